"""Keys and certificates of one lab, made by openssl: a certificate authority, one certificate for
every client of the API server, and the key of service account tokens."""

import pathlib
import subprocess

from .errors import LabError

# Only requested extensions: the machine's own openssl.cnf makes every certificate an authority.
_CONFIG = "[req]\ndistinguished_name = dn\nprompt = no\n[dn]\n"
_DAYS = "3650"


class Pki:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder

    @property
    def authority(self) -> pathlib.Path:
        return self.folder / "ca.crt"

    @property
    def service_account_key(self) -> pathlib.Path:
        return self.folder / "sa.key"

    def certificate(self, name: str) -> pathlib.Path:
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> pathlib.Path:
        return self.folder / f"{name}.key"

    def make_authority(self) -> None:
        self.folder.mkdir(mode=0o700)
        (self.folder / "openssl.cnf").write_text(_CONFIG)
        extensions = [
            *("-addext", "basicConstraints=critical,CA:TRUE"),
            *("-addext", "keyUsage=critical,digitalSignature,keyCertSign,cRLSign"),
            *("-addext", "subjectKeyIdentifier=hash"),
        ]
        self._request("ca", "/CN=tranche-lab", extensions)
        # In SEC 1's form, the only one of elliptic curve keys that kube-apiserver reads here.
        self._openssl(
            *("ecparam", "-genkey", "-name", "prime256v1", "-noout"),
            *("-out", self.service_account_key),
        )

    def server(self, name: str, hosts: list[str]) -> None:
        """For a server that is reached by these DNS names and addresses."""
        names = ",".join(f"IP:{one}" if one[0].isdigit() else f"DNS:{one}" for one in hosts)
        extensions = ["-addext", "extendedKeyUsage=serverAuth", "-addext", f"subjectAltName={names}"]
        self._request(name, f"/CN={name}", [*extensions, *self._signed()])

    def client(self, name: str, user: str, group: str = "") -> None:
        subject = (f"/O={group}" if group else "") + f"/CN={user}"
        extensions = ["-addext", "extendedKeyUsage=clientAuth"]
        self._request(name, subject, [*extensions, *self._signed()])

    def _signed(self) -> list:
        return ["-CA", self.authority, "-CAkey", self.key("ca")]

    def _request(self, name: str, subject: str, extra: list) -> None:
        self._openssl(
            *("req", "-x509", "-new", "-noenc", "-config", self.folder / "openssl.cnf"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", _DAYS),
            *("-subj", subject, "-keyout", self.key(name), "-out", self.certificate(name)),
            *extra,
        )

    def _openssl(self, *arguments) -> None:
        command = ["openssl", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"{' '.join(command)}: {done.stderr.strip()}")
