"""The Helm chart: what Helm rendered from it is valid, keeps what it promises, and its commands run as processes here."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import composed
import jsonschema
import kubernetes_validate
import pytest
import urllib3
import yaml
from pods import CHART, RELEASES, RENDERED, ROOT, Pod, containers, deployments, rendered
from portal_home import fill, settings_of
from worker_process import eventually

from search.engines.opensearch.client import Cluster, Connection
from search.settings import describe
from web import create_app
from web.cli.main import COMMANDS, cli

each_release = pytest.mark.parametrize("release", RELEASES)
KUBE = ("--kube-version", "1.34.0")
needs_helm = pytest.mark.skipif(not shutil.which("helm"), reason="helm is not installed")


def test_what_was_rendered_is_of_this_chart():
    """Otherwise: `make chart`, where Helm is installed."""
    listed = dict(reversed(line.split("  ./")) for line in (RENDERED / "chart.sha256").read_text().splitlines())
    files = {path.relative_to(CHART).as_posix(): path for path in CHART.rglob("*") if path.is_file()}
    assert listed == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}


@needs_helm
@each_release
def test_helm_renders_the_same_now(release):
    values = str(RENDERED / f"{release}.values.yaml")
    command = ["helm", "template", "medley", str(CHART), "--namespace", "search", *KUBE, "--values", values]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert made == (RENDERED / f"{release}.yaml").read_text(encoding="utf-8")
    subprocess.run(["helm", "lint", "--strict", *KUBE, "--values", values, str(CHART)], check=True, capture_output=True)


@needs_helm
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("opensearch.address=", "opensearch.address is required"),
        ("tokens.gatewaySecret=", "tokens.gatewaySecret is required"),
        ("tokens.inferenceSecret=", "tokens.inferenceSecret is required"),
        ("gateway.replicas=2", "replicas"),
        ("opensearch.address=opensearch:9200", "address"),
        ("settings.PASSWORD=x", "PASSWORD"),
        ("inference.device=tpu", "device"),
    ],
)
def test_helm_refuses_values_that_are_missing_or_wrong(changed, said):
    values = str(RENDERED / "full.values.yaml")
    command = ["helm", "template", "medley", str(CHART), *KUBE, "--values", values, "--set", changed]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 1
    assert said in ran.stderr


@each_release
def test_the_values_of_the_releases_keep_the_schema(release):
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(yaml.safe_load((RENDERED / f"{release}.values.yaml").read_text(encoding="utf-8")), schema)
    jsonschema.validate(yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8")), schema)


@pytest.mark.parametrize("version", ["1.25", "1.34"])
@each_release
def test_manifests_keep_the_schemas_of_kubernetes(release, version):
    for manifest in rendered(release):
        kubernetes_validate.validate(manifest, version, strict=True)


def test_a_manifest_with_a_misspelt_field_would_be_noticed():
    (broken, *_) = [item for item in rendered("full") if item["kind"] == "Deployment"]
    broken = json.loads(json.dumps(broken))
    broken["spec"]["template"]["spec"]["containers"][0]["livenessprobe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, "1.34", strict=True)


def test_what_runs_follows_from_the_values():
    assert deployments("minimal").keys() == {"gateway"}
    assert deployments("full").keys() == {"gateway", "worker", "inference"}
    kinds = sorted(item["kind"] for item in rendered("minimal"))
    assert kinds == ["Deployment", "PersistentVolumeClaim", "Service"]
    assert not [item for item in rendered("full") if item["kind"] == "PersistentVolumeClaim"]  # one that is there


@each_release
def test_services_and_deployments_select_the_pods_they_mean(release):
    pods = [
        item["spec"]["template"]["metadata"]["labels"] for item in rendered(release) if item["kind"] == "Deployment"
    ]
    for item in rendered(release):
        if item["kind"] == "Deployment":
            chosen = item["spec"]["selector"]["matchLabels"]
            assert sum(chosen.items() <= labels.items() for labels in pods) == 1
        elif item["kind"] == "Service":
            chosen = item["spec"]["selector"]
            assert sum(chosen.items() <= labels.items() for labels in pods) == 1
            ports = {
                port["name"]
                for port in deployments(release)[chosen["app.kubernetes.io/component"]]["containers"][0]["ports"]
            }
            assert {port["targetPort"] for port in item["spec"]["ports"]} <= ports


@each_release
def test_pods_have_no_rights_that_they_do_not_need(release):
    for pod in deployments(release).values():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 1000  # the user of the image
    for _, container in containers(release):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}
        assert container["resources"]["limits"].keys() == {"memory"}


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    else:
        yield str(value)


@each_release
def test_secrets_are_named_and_never_held(release):
    assert {item["kind"] for item in rendered(release)} <= {"Deployment", "Service", "PersistentVolumeClaim"}
    for name, container in containers(release):
        for item in container["env"]:
            assert item.keys() == {"name", "value"}
            assert not re.search(r"(PASSWORD|TOKEN|KEY)$", item["name"]), name


@each_release
def test_every_file_of_a_setting_is_mounted_by_a_secret_that_has_it(release):
    for name, container in containers(release):
        pod = deployments(release)[name]
        volumes = {item["name"]: item for item in pod["volumes"]}
        mounts = {item["mountPath"]: volumes[item["name"]] for item in container["volumeMounts"]}
        files = [item["value"] for item in container["env"] if re.search(r"(_FILE|_CA|FIRST_TOKENS)$", item["name"])]
        for file in files:
            folder, _, base = file.rpartition("/")
            sources = [each["secret"] for each in mounts[folder].get("projected", {}).get("sources", ())]
            items = [item for each in [*sources, mounts[folder].get("secret", {})] for item in each.get("items", ())]
            assert base in {item["path"] for item in items}, file


@each_release
def test_settings_are_settings_and_commands_are_commands(release):
    known = {variable for variable, _, _ in describe()}
    for _, container in containers(release):
        own = {item["name"] for item in container["env"]} - {"FIRST_TOKENS"}
        assert {name for name in own if not name.startswith("OTEL_")} <= known
        assert len({item["name"] for item in container["env"]}) == len(container["env"])
        if "args" in container:
            command, *rest = map(str, container["args"])
            assert command in COMMANDS
            cli.get_command(None, command).make_context(command, rest)


@each_release
def test_probes_ask_what_is_answered(release, tmp_path):
    client = create_app(settings_of(fill(tmp_path / "home"))).test_client()
    probes = [
        container[name]["httpGet"]["path"]
        for component, container in containers(release)
        for name in ("startupProbe", "livenessProbe", "readinessProbe")
        if component == "gateway" and name in container
    ]
    assert len(probes) == 3
    assert {client.get(path).status_code for path in probes} == {200}


def test_every_value_is_documented():
    page = (ROOT / "docs/operator/kubernetes.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([a-z][A-Za-z.]+)`", page))
    for name, value in yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8")).items():
        below = value if isinstance(value, dict) and value else {}
        for part in below or ("",):
            assert ".".join(filter(None, (name, part))) in documented, (name, part)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return composed.make_secrets(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def pods(node, made, tmp_path_factory):
    """The gateway, a worker and the model server of the release `full`, on the tests' node and a Redis with a password."""
    process, queue = composed.redis(made, tmp_path_factory.mktemp("redis"))
    prefix = f"t{secrets.token_hex(5)}"
    kept = {
        name: made.read(name)
        for name in ("opensearch-password", "inference-token", "inference-tokens.json", "redis-password", "ca.pem")
    }
    kept["tokens.json"] = (made.home / "tokens.json").read_text(encoding="utf-8")
    # The tests' node has neither TLS nor users, and there is no collector.
    given = dict.fromkeys(
        ("MEDLEY_OPENSEARCH_USER", "MEDLEY_OPENSEARCH_PASSWORD_FILE", "MEDLEY_OPENSEARCH_CA", "MEDLEY_TRACES"), ""
    )
    given |= {"MEDLEY_OPENSEARCH": node.url, "MEDLEY_OPENSEARCH_PREFIX": prefix, "MEDLEY_REDIS": queue}
    started = {"inference": Pod("inference", tmp_path_factory.mktemp("inference"), kept, given)}
    given["MEDLEY_INFERENCE"] = f"http://127.0.0.1:{started['inference'].port}"
    started["inference"].wait()
    for name in ("gateway", "worker"):
        started[name] = Pod(name, tmp_path_factory.mktemp(name), kept, given)
    yield started
    for pod in started.values():
        pod.end()
    process.terminate()
    process.wait(10)
    cluster = Cluster(Connection((node.url,), prefix=prefix))
    cluster.write("DELETE", f"/{prefix}.*")
    cluster.close()


@pytest.mark.slow
@pytest.mark.opensearch
@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_the_rendered_commands_start_pass_their_probes_and_search(pods, made):
    gateway = pods["gateway"]
    gateway.wait()
    pods["worker"].wait()
    assert not gateway.passes("readinessProbe")  # /readyz, and there is no collection yet
    gateway.run("demo")
    for pod, probes in (
        ("gateway", ("livenessProbe", "readinessProbe")),
        ("inference", ("livenessProbe", "readinessProbe")),
        ("worker", ("livenessProbe",)),
    ):
        for probe in probes:
            eventually(lambda pod=pod, probe=probe: pods[pod].passes(probe), f"{pod} passes its {probe}")
    address = f"http://127.0.0.1:{gateway.port}/v1/search?collection=demo-abstracts&text=aspirin"
    headers = {"Authorization": f"Bearer {made.token}"}
    found = urllib3.request("GET", address, headers=headers).json()
    assert found["degraded"] == []
    assert found["reranked"]["scored"] > 0  # by the model server, which knows the gateway's token
    assert urllib3.request("GET", address, retries=False).status == 401
    line = b'{"id": "queued/1", "title": "Quokkas", "text": "Quokkas smile.", "labels": ["public"]}\n'
    gateway.run("index", "create", "abstracts")
    told = gateway.run("tokens", "add", "feeder", "--label", "public", "--write", "abstracts")
    feeder = {"Authorization": f"Bearer {re.search('medley_[A-Za-z0-9_-]+', told).group()}"}
    sent = urllib3.request(
        "POST",
        f"http://127.0.0.1:{gateway.port}/v1/documents?collection=abstracts",
        body=line,
        headers=feeder | {"Content-Type": "application/x-ndjson"},
    )
    assert sent.status in (200, 202), sent.data
    asked = f"http://127.0.0.1:{gateway.port}/v1/search?collection=abstracts&text=quokkas"
    eventually(lambda: urllib3.request("GET", asked, headers=headers).json()["hits"], "a worker indexes it")
