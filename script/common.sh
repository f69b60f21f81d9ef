# Shared by the scripts of this folder; sourced, not run.  Sets the working directory to the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "$0" "$*" >&2
  exit 1
}

# The Python environment's folder: one per interpreter and set of requirements, shared by every checkout.
venv_path() {
  printf '%s/graphglue/venv-%s\n' "${XDG_CACHE_HOME:-$HOME/.cache}" "$({
    cat tools/requirements.txt tools/requirements-test.txt
    python3 -c 'import sys; print(sys.version, sys.base_prefix)'
  } | sha256sum | cut -c1-12)"
}
