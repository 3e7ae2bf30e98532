"""Makes what docker-compose.yml needs and nobody else may know: certificates, passwords, tokens. `make secrets` runs it.

Existing files are kept: remove a file to create it again. Needs only Python and the `openssl` command.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
OWNER = 1000
"""The user of the containers: OpenSearch's image and ours have the same."""

PBKDF2_ITERATIONS, PBKDF2_BITS = 600_000, 256
CA_DAYS, NODE_DAYS = 3650, 825

OPENSSL = """
[req]
distinguished_name = name
prompt = no
[name]
CN = set by -subj
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[node]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = DNS:opensearch, DNS:localhost, IP:127.0.0.1
"""

USERS = """# The users of an empty data volume; the passwords are in the files opensearch-admin-password and opensearch-password.
_meta:
  type: internalusers
  config_version: 2

admin:
  hash: "{admin}"
  description: "Administers the cluster"

medley:
  hash: "{medley}"
  description: "Medley's gateway and its commands"
"""


Content = dict[str, bytes]


def authority(folder: Path) -> Content:
    """The authority that signs the node's certificate; its key is mounted nowhere."""
    if (folder / "node.pem").exists():
        sys.exit(f"{folder / 'ca.pem'} is gone, and node.pem was signed by it: bring it back, or remove node.pem too")
    lasting = ["-days", str(CA_DAYS), "-extensions", "authority"]
    return issued(
        ["ca-key.pem", "ca.pem"],
        ["req", "-x509", *new_key("ca-key.pem", "Medley authority"), *lasting, "-out", "ca.pem"],
    )


def node(folder: Path) -> Content:
    """The node's key and certificate, for HTTP and transport alike."""
    if not (folder / "ca-key.pem").exists():
        sys.exit(f"{folder / 'ca-key.pem'} is gone: bring it back to sign node.pem, or remove ca.pem too for a new one")
    own, key = ((folder / name).resolve() for name in ("ca.pem", "ca-key.pem"))
    signing = ["-CA", str(own), "-CAkey", str(key), "-set_serial", str(secrets.randbits(120)), "-sha256"]
    lasting = ["-days", str(NODE_DAYS), "-extfile", "openssl.cnf", "-extensions", "node"]
    return issued(
        ["node-key.pem", "node.pem"],
        ["req", "-new", *new_key("node-key.pem", "opensearch"), "-out", "request.pem"],
        ["x509", "-req", "-in", "request.pem", *signing, *lasting, "-out", "node.pem"],
    )


def new_key(name: str, subject: str) -> list[str]:
    """Options for a new key on P-256, PKCS#8 and without a passphrase, and whose it is."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name]
    return ["-config", "openssl.cnf", *curve, "-sha256", "-subj", f"/CN={subject}"]


def issued(names: list[str], *commands: list[str]) -> Content:
    """The files `names` that these openssl commands make, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as aside:
        Path(aside, "openssl.cnf").write_text(OPENSSL, encoding="utf-8")
        for command in commands:
            try:
                ran = subprocess.run(["openssl", *command], cwd=aside, capture_output=True, text=True)
            except FileNotFoundError:
                sys.exit("the command openssl is not installed")
            if ran.returncode:
                sys.exit(f"openssl {command[0]} failed: {ran.stderr.strip()[-500:]}")
        return {name: Path(aside, name).read_bytes() for name in names}


def password(name: str) -> Content:
    """A password of 256 random bits."""
    return {name: secrets.token_urlsafe(32).encode()}


def users(folder: Path) -> Content:
    """OpenSearch's users, from the passwords."""
    hashes = {
        user: pbkdf2((folder / name).read_bytes().strip())
        for user, name in (("admin", "opensearch-admin-password"), ("medley", "opensearch-password"))
    }
    return {"internal_users.yml": USERS.format(**hashes).encode()}


def pbkdf2(secret: bytes) -> str:
    """The hash as OpenSearch's security plugin keeps it: iterations and length in one number, salt and key in base64."""
    salt = secrets.token_bytes(16)
    key = hashlib.pbkdf2_hmac("sha256", secret, salt, PBKDF2_ITERATIONS, PBKDF2_BITS // 8)
    parts = (str(PBKDF2_ITERATIONS << 32 | PBKDF2_BITS), *(base64.b64encode(part).decode() for part in (salt, key)))
    return "$3$" + "$".join(parts)  # 3 is SHA-256


def token(user: str, operator: bool = False) -> tuple[str, bytes]:
    """A token's text, and the list of tokens that lets it in, as `medley tokens add` writes it."""
    identifier, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    kept = {
        "id": identifier,
        "user": user,
        "labels": ["*"],
        "operator": operator,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "digest": hashlib.sha256(secret.encode()).hexdigest(),
    }
    return f"medley_{identifier}_{secret}", json.dumps({"tokens": [kept]}, indent=1).encode()


def inference_token() -> Content:
    """The token that the gateway shows to the model server, and the list that the model server knows it by."""
    text, known = token("gateway")
    return {"inference-token": text.encode(), "inference-tokens.json": known}


def redis(folder: Path) -> Content:
    """Redis's settings: its password, and that nothing is kept on disk, as all it holds can be lost."""
    secret = (folder / "redis-password").read_text(encoding="ascii").strip()
    lines = [f"requirepass {secret}", 'save ""', "appendonly no", "maxmemory-policy noeviction", "dir /tmp"]
    return {"redis.conf": "".join(f"{line}\n" for line in lines).encode()}


def write(folder: Path, content: Content) -> None:
    """Write files that only the containers' user may read; each is there whole or not at all."""
    for name, value in content.items():
        aside = folder / f".{name}.{secrets.token_hex(4)}"
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(value)
        hand_over(aside)
        aside.rename(folder / name)
        print(f"made {folder / name}")


def hand_over(path: Path) -> None:
    """Give a file or folder to the containers' user, where this user may."""
    if os.getuid() == 0:
        os.chown(path, OWNER, OWNER)


def make_secrets(folder: Path) -> None:
    """Make what is missing in the folder of secrets."""
    units: list[tuple[list[str], Callable[[], Content]]] = [
        (["ca.pem"], lambda: authority(folder)),  # its key may be kept elsewhere
        (["node.pem", "node-key.pem"], lambda: node(folder)),
        (["opensearch-admin-password"], lambda: password("opensearch-admin-password")),
        (["opensearch-password"], lambda: password("opensearch-password")),
        (["internal_users.yml"], lambda: users(folder)),
        (["inference-token", "inference-tokens.json"], inference_token),
        (["redis-password"], lambda: password("redis-password")),
        (["redis.conf"], lambda: redis(folder)),
    ]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for names, make in units:
        if not all((folder / name).exists() for name in names):
            write(folder, make())


def make_home(home: Path) -> None:
    """Make the gateway's home, with one token in it: without any it is not served to others."""
    if not home.exists():
        home.mkdir(mode=0o700, parents=True)
        hand_over(home)
    if not (home / "tokens.json").exists():
        text, known = token("admin", operator=True)
        write(home, {"tokens.json": known})
        print(f"log in with this token, which is shown this once: {text}")


def main() -> None:
    """Make what is missing, and say what was made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--secrets", type=Path, default=ROOT / "secrets", help="folder of the secrets")
    parser.add_argument("--home", type=Path, default=ROOT / "home", help="folder of the gateway's home")
    chosen = parser.parse_args()
    try:
        make_secrets(chosen.secrets)
        make_home(chosen.home)
    except PermissionError as error:
        sys.exit(f"{error.filename} belongs to another user: run this as root, or as user {OWNER}")
    if os.getuid() not in (0, OWNER):
        print(f"the containers' user is {OWNER}: sudo chown -R {OWNER}:{OWNER} {chosen.secrets}/* {chosen.home}")


if __name__ == "__main__":
    main()
