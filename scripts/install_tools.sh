#!/usr/bin/env bash
# Installs the outside programs that the tests run against Signet: Debian's PlantUML, a Java to run it, Node.js,
# the shells in which commands are completed, Chromium and a Japanese font for the console, Redis, HAProxy, nginx, systemd's own check of units, and the npm packages
# of package-lock.json. Does nothing that is done already.
set -euo pipefail
cd "$(dirname "$0")/.."

oldest_node=20
node_here=build/node # used when the machine's own Node.js is older than that; tests/real look there first
pinned_node=22.23.3

source scripts/packages.sh

system_packages() {
  local missing=()
  [ -e /usr/share/plantuml/plantuml.jar ] || missing+=(plantuml)
  has curl || missing+=(curl)
  has java || missing+=(default-jre-headless)
  has node || missing+=(nodejs)
  has npm || missing+=(npm)
  has zsh || missing+=(zsh)
  has fish || missing+=(fish)
  has redis-server || missing+=(redis-server)
  has haproxy || [ -x /usr/sbin/haproxy ] || missing+=(haproxy)
  has nginx || [ -x /usr/sbin/nginx ] || missing+=(nginx)
  has systemd-analyze || missing+=(systemd)
  has chromium || has chromium-headless-shell || missing+=(chromium)
  [ -e /usr/share/fonts/opentype/ipafont-gothic/ipag.ttf ] || missing+=(fonts-ipafont-gothic)
  install_packages "The tests need" "${missing[@]}"
}

# The browser without windows takes half the processor time; where it cannot be had, the tests take the other.
light_browser() {
  has chromium-headless-shell && return 0
  may_install || return 0
  local candidate
  candidate=$(apt-cache policy chromium-headless-shell 2>/dev/null | awk '/Candidate:/ { print $2 }')
  [ -n "$candidate" ] && [ "$candidate" != "(none)" ] || return 0
  echo "installing chromium-headless-shell"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install chromium-headless-shell >/dev/null 2>&1 ||
    echo "chromium-headless-shell cannot be installed: the tests use chromium"
}

newer_node() {
  local version
  version=$(node -p 'process.versions.node.split(".")[0]')
  [ "$version" -lt "$oldest_node" ] || return 0
  [ ! -x "$node_here/bin/node" ] || return 0
  local package
  package=$(node -p '`node-${process.platform}-${process.arch}`')
  echo "installing Node.js $pinned_node beside the machine's $version"
  npm install --prefix build --loglevel=error --ignore-scripts --no-save --no-package-lock "$package@$pinned_node" >/dev/null
  ln -sfn "node_modules/$package" "$node_here"
}

npm_packages() {
  local installed=node_modules/.package-lock.json
  if [ -e "$installed" ] && [ ! package-lock.json -nt "$installed" ]; then return 0; fi
  echo "installing PlantUML's scripts, fonts, the MCP conformance suite, the MCP Inspector, Redocly and Spectral"
  npm ci --ignore-scripts --loglevel=error >/dev/null
  touch "$installed"
}

system_packages
light_browser
newer_node
npm_packages
