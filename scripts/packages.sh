# Functions for the scripts that install Debian packages; sourced, not run.

has() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
  has apt-get && { [ "$(id -u)" -eq 0 ] || { has sudo && sudo -n true 2>/dev/null; }; }
}

# install_packages PURPOSE PACKAGE...: PURPOSE begins the sentence for a user who may not install.
install_packages() {
  local purpose=$1
  shift
  [ $# -gt 0 ] || return 0
  if ! may_install; then
    echo "$purpose these packages, and this user may not install them: $*" >&2
    exit 1
  fi
  echo "installing $*"
  as_root apt-get -qq update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "$@" >/dev/null
}
