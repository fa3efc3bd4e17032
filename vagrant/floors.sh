#!/usr/bin/env bash
# Install the lowest versions that pyproject.toml allows into .venv-floors, and run tests with them.
#   floors.sh [PYTEST ARGUMENTS...]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}   # the lowest versions have no wheels for later Pythons
folder=.venv-floors
[ -x $folder/bin/uv ] || { bash vagrant/venv.sh make "$python" $folder; $folder/bin/pip install --quiet uv; }
UV_BUILD_CONSTRAINT=vagrant/ryu-build-constraint.txt UV_FIND_LINKS=${PIP_FIND_LINKS:-} $folder/bin/uv pip install --quiet --python $folder/bin/python \
    --resolution lowest-direct --editable '.[test,ryu]' 'httpx>=0.27'   # the older starlette's test client needs it
# What tests run as programs, as it is now; what is installed stays.
UV_FIND_LINKS=${PIP_FIND_LINKS:-} $folder/bin/uv pip install --quiet --python $folder/bin/python --editable '.[docs]' ruff mypy
[ $# -gt 0 ] || set -- -n 2 -m 'not lab and not vm'
exec $folder/bin/python -m pytest -q -p no:cacheprovider "$@"
