"""A real API server accepts the ResourceSlices that dra/ makes, every field of them
(tests/contract). Skipped where the lab's programs are not built (lab/build/build)."""

import os
import subprocess
import sys

from programs import BUILD, ROOT

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

PROGRAM = "objects_contract_test"


def test_a_real_api_server_takes_the_slices(tmp_path):
    with running_server(tmp_path) as server:
        environment = {**os.environ, "TRANCHE_TEST_KUBECONFIG": str(server.kubeconfig())}
        done = subprocess.run(
            [BUILD / "tests" / PROGRAM, "--gtest_filter=*SlicesContract*/real"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "[  PASSED  ] 1 test" in done.stdout, done.stdout
        assert not server.request("GET", "/apis/resource.k8s.io/v1/resourceslices")["items"]
