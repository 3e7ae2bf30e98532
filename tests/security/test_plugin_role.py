"""`medley plugin` on a node with TLS and users, by one who has only the role that the documentation gives."""

import json
import re
import shutil
import tempfile
from pathlib import Path

import composed
import opensearch_node
import pytest
import urllib3
import yaml
from command_line import medley
from plugin_models import MODELS, model_server

pytestmark = [pytest.mark.security, pytest.mark.opensearch, pytest.mark.slow]

GUIDE = Path(__file__).parents[2] / "docs" / "operator" / "plugin.md"
ML = "cluster:admin/opensearch/ml/*"
PASSWORD = "A-long-2-password-of-a-plugin"
NAME, INDEX = "medley-abstracts", "medley-abstracts-1"


def documented_role(name: str = "medley_plugin") -> dict:
    """A role as the guide prints it."""
    blocks = re.findall(r"```yaml\n(medley_.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (role,) = [roles[name] for roles in map(yaml.safe_load, blocks) if name in roles]
    return role


class SecuredWorld:
    """A node with users, a model server, and the command line as one of the users."""

    def __init__(self, node, server, home, made):
        self.node, self.server, self.home, self._made = node, server, home, made
        self.password = home / "password"
        self.password.write_text(PASSWORD)
        self.password.chmod(0o600)
        self._pool = urllib3.PoolManager(ca_certs=str(made.secrets / "ca.pem"), retries=False, timeout=60.0)

    def admin(self, method, path, body=None):
        return self._ask(method, path, body, self.node.secure.headers())

    def user(self, method, path, body=None):
        return self._ask(method, path, body, urllib3.make_headers(basic_auth=f"user:{PASSWORD}"))

    def _ask(self, method, path, body, headers):
        answer = self._pool.request(method, self.node.url + path, json=body, headers=headers)
        return answer.status, json.loads(answer.data)

    def may(self, role):
        """Give the user this role, and no other."""
        status, answer = self.admin("PUT", "/_plugins/_security/api/roles/tried", role)
        assert status in (200, 201), answer
        user = {"password": PASSWORD, "opendistro_security_roles": ["tried"]}
        status, answer = self.admin("PUT", "/_plugins/_security/api/internalusers/user", user)
        assert status in (200, 201), answer

    def plugin(self, *arguments):
        places = ("--opensearch", self.node.url, "--server", self.server)
        return medley(
            self.home, "plugin", *arguments[:1], *places, *arguments[1:], **MODELS,
            MEDLEY_OPENSEARCH_USER="user", MEDLEY_OPENSEARCH_PASSWORD_FILE=str(self.password),
            MEDLEY_OPENSEARCH_CA=str(self._made.secrets / "ca.pem"),
        )  # fmt: skip

    def left(self):
        """What of ours the administrator finds."""
        everything = {"size": 100, "query": {"match_all": {}}}
        found = {}
        for what in ("models", "connectors", "model_groups"):
            status, answer = self.admin("POST", f"/_plugins/_ml/{what}/_search", everything)
            found[what] = [item["_source"]["name"] for item in answer["hits"]["hits"]] if status == 200 else []
        for what in ("_ingest/pipeline", "_search/pipeline"):
            found[what] = [name for name in self.admin("GET", f"/{what}")[1] if name.startswith("medley")]
        templates = self.admin("GET", "/_index_template")[1]["index_templates"]
        found["templates"] = [item["name"] for item in templates if item["name"].startswith("medley")]
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder, home = Path(tempfile.mkdtemp(prefix="medley-secrets-")), tmp_path_factory.mktemp("home")
    made = composed.make_secrets(folder)
    settings, files = composed.configuration(made)
    settings |= {"network.host": "127.0.0.1", "plugins.ml_commons.only_run_on_ml_node": "false"}
    secure = opensearch_node.Secure(files, made.secrets / "ca.pem", "admin", made.read("opensearch-admin-password"))
    profiles = (*opensearch_node.ML, *opensearch_node.SECURITY)
    with (
        opensearch_node.running("768m", settings, secure, profiles=profiles) as node,
        model_server(home, opensearch_node.free_port()) as server,
    ):
        yield SecuredWorld(node, server, home, made)
    shutil.rmtree(folder)


def test_the_documented_role_installs_indexes_searches_and_removes(world):
    before = world.left()
    world.may(documented_role())
    made = world.plugin("install", "--trust", "--json")
    assert made.returncode == 0, made.stderr
    states = {part["state"] for part in json.loads(world.plugin("status", "--json").stdout)["parts"]}
    assert states == {"ready"}
    document = {"title": "Aspirin and stroke", "text": "Aspirin lowered the risk of a second stroke.", "year": 2020}
    status, answer = world.user("PUT", f"/{INDEX}/_doc/1?refresh=true", document)
    assert status == 201, answer
    world.admin("PUT", "/medley-old/_doc/2?refresh=true", document)
    copied = world.plugin("backfill", "medley-old", INDEX, "--json")
    assert copied.returncode == 0, copied.stderr
    asked = world.plugin("query", "does aspirin prevent stroke", "--size", "3")
    status, answer = world.user("POST", f"/{INDEX}/_search", json.loads(asked.stdout))
    assert status == 200, answer
    assert [hit["_id"] for hit in answer["hits"]["hits"]] == ["1", "2"]
    world.admin("PUT", "/of-others/_doc/1?refresh=true", {"a": 1})
    removed = world.plugin("remove", "--json")
    assert removed.returncode == 0, removed.stderr
    assert world.left() == before
    assert world.admin("GET", f"/{INDEX}/_settings/index.default_pipeline")[1] == {}
    world.admin("DELETE", f"/{INDEX},medley-old,of-others")


def test_the_documented_roles_for_clients_index_and_search_and_no_more(world):
    world.may(documented_role())
    assert world.plugin("install", "--trust").returncode == 0
    asked = json.loads(world.plugin("query", "does aspirin prevent stroke").stdout)
    document = {"title": "Aspirin and stroke", "text": "Aspirin lowered the risk of a second stroke.", "year": 2020}
    world.may(documented_role("medley_index"))
    status, answer = world.user("PUT", f"/{INDEX}/_doc/1?refresh=true", document)
    assert status == 201, answer
    assert world.user("POST", f"/{INDEX}/_search", asked)[0] == 403
    world.may(documented_role("medley_search"))
    status, answer = world.user("POST", f"/{INDEX}/_search", asked)
    assert status == 200, answer
    assert [hit["_id"] for hit in answer["hits"]["hits"]] == ["1"]
    assert world.user("PUT", f"/{INDEX}/_doc/2", document)[0] == 403
    world.may(documented_role())
    assert world.plugin("remove").returncode == 0
    world.admin("DELETE", f"/{INDEX}")


def test_who_may_not_make_connectors_is_told_which_permission_is_missing(world):
    before = world.left()
    role = documented_role()
    role["cluster_permissions"].remove(ML)
    world.may(role)
    refused = world.plugin("install")
    assert refused.returncode != 0
    assert "denies access" in refused.stderr
    assert "cluster:admin/opensearch/ml/" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert world.left() == before


def test_without_trust_no_setting_of_the_cluster_is_needed(world):
    role = documented_role()
    role["cluster_permissions"].remove("cluster:admin/settings/update")
    world.may(role)
    refused = world.plugin("install", "--trust")
    assert "cluster:admin/settings/update" in refused.stderr
    world.may(documented_role())
    assert world.plugin("install", "--trust").returncode == 0
    world.may(role)
    again = world.plugin("install", "--json")
    assert {item["action"] for item in json.loads(again.stdout)["changes"]} == {"unchanged"}, again.stderr
    world.may(documented_role())
    assert world.plugin("remove").returncode == 0
