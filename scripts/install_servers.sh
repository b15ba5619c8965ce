#!/usr/bin/env bash
# Installs other people's servers, which `make wrapped-servers` wraps, below build/servers: two Python environments and
# the npm packages of tests/wrap/npm/package-lock.json. Does nothing that is done already.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
here=build/servers

# Each lock file is complete, hence --no-deps, and has an environment of its own: its servers need their version of the
# official SDK.
python_servers() {
  local folder=$here/$1 lock=requirements/$1.txt
  if [ -e "$folder/.installed" ] && [ ! "$lock" -nt "$folder/.installed" ]; then return 0; fi
  echo "installing $lock into $folder"
  "$python" -m venv "$folder"
  "$folder/bin/python" -m pip --disable-pip-version-check --quiet install --no-deps --require-hashes -r "$lock"
  touch "$folder/.installed"
}

npm_servers() {
  local installed=$here/node_modules/.package-lock.json
  if [ -e "$installed" ] && [ ! tests/wrap/npm/package-lock.json -nt "$installed" ]; then return 0; fi
  echo "installing the servers of tests/wrap/npm/package-lock.json into $here"
  cp tests/wrap/npm/package.json tests/wrap/npm/package-lock.json .npmrc "$here"
  npm ci --prefix "$here" --ignore-scripts --loglevel=error >/dev/null
  touch "$installed"
}

mkdir -p "$here"
python_servers servers
python_servers servers-older
npm_servers
