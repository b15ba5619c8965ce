#!/usr/bin/env bash
# Builds the image of deploy/Dockerfile on a machine that reaches no registry of images: `scripts/build_image.sh [TAG]`.
# The base image is made from Debian packages and gets the name that the Dockerfile asks for. Images are kept below
# build/image (or IMAGE_STORE), apart from those of the machine; `scripts/podman.sh` runs commands on them.
# With a registry, `docker build -f deploy/Dockerfile -t signet .` does the same.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/packages.sh

tag=${1:-signet}
suite=bookworm # the Debian release that has the Python of the Dockerfile
store=$(realpath -m "${IMAGE_STORE:-build/image}")
work=$(mktemp -d)
trap 'as_root rm -rf "$work"' EXIT

build_tools() {
  local missing=()
  has buildah || missing+=(buildah)
  has debootstrap || [ -x /usr/sbin/debootstrap ] || missing+=(debootstrap debian-archive-keyring)
  has podman || missing+=(podman)
  has runc || [ -x /usr/sbin/runc ] || missing+=(runc)
  install_packages "Building an image needs" "${missing[@]}"
}

images() {
  as_root buildah --root "$store/storage" --runroot "$store/run" --storage-driver vfs "$@"
}

base_name() {
  sed -n 's/^FROM \([^ ]*\).*/\1/p' deploy/Dockerfile | sort -u
}

# The mirror from which this machine gets that release, if there is one; else debootstrap's own choice.
mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $suite" 2>/dev/null | head -n 1
}

make_base() {
  local name=$1 container
  echo "making $name from Debian $suite"
  local found
  found=$(mirror)
  as_root /usr/sbin/debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates \
    "$suite" "$work/base" ${found:+"$found"} >"$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
  as_root ln -s python3 "$work/base/usr/bin/python"
  as_root rm -rf "$work/base/var/cache/apt/archives" "$work/base/var/lib/apt/lists"
  container=$(images from scratch)
  images add --quiet "$container" "$work/base" / >/dev/null
  images config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --cmd python "$container"
  images commit --quiet --rm "$container" "$name" >/dev/null
}

# The certificates and the package index that pip uses on this machine, for the pip of the build alone.
pip_settings() {
  local bundle index
  bundle=${PIP_CERT:-$(python3 -m pip config get global.cert 2>/dev/null || true)}
  bundle=${bundle:-${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}}
  index=${PIP_INDEX_URL:-$(python3 -m pip config get global.index-url 2>/dev/null || true)}
  printf '[global]\n' >"$work/pip.conf"
  if [ -r "$bundle" ]; then
    cp -L "$bundle" "$work/certificates.crt"
    printf 'cert = /etc/pip-certificates.crt\n' >>"$work/pip.conf"
    mounts+=(--volume "$work/certificates.crt:/etc/pip-certificates.crt:ro")
  fi
  if [ -n "$index" ]; then printf 'index-url = %s\n' "$index" >>"$work/pip.conf"; fi
  mounts+=(--volume "$work/pip.conf:/etc/pip.conf:ro")
}

build_tools
name=$(base_name)
images inspect --type image "$name" >/dev/null 2>&1 || make_base "docker.io/library/$name"
mounts=()
pip_settings
images build --isolation chroot --pull-never --format docker "${mounts[@]}" -f deploy/Dockerfile -t "$tag" .
# What an earlier build of the same name has left.
images rmi --prune >/dev/null 2>&1 || true
