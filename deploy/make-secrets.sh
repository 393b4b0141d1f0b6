#!/bin/sh
# Makes the secrets of compose.yaml, once: one file each, in the folder secrets beside this script, or in one that is
# named. Keep them: what the store has sealed is lost with switchyard_secret.
set -eu
folder=${1:-$(dirname "$0")/secrets}
if [ -e "$folder" ]; then
  echo "$folder is there already, and nothing was changed." >&2
  exit 1
fi
# The folder keeps other users of this machine out. Inside a container, who reads a file is not who made it.
mkdir -m 0700 "$folder"
umask 022
random() { od -An -vN"$1" -tx1 /dev/urandom | tr -d ' \n'; }
put() { printf '%s\n' "$2" > "$folder/$1"; }
postgres=$(random 24)
redis=$(random 24)
put postgres_password "$postgres"
put database_url "postgres://switchyard:$postgres@postgres:5432/switchyard"
put redis_password "$redis"
put redis_url "redis://:$redis@redis:6379/0"
put switchyard_secret "$(random 32)"
put switchyard_bootstrap_key "svc_live_$(random 24)"
echo "Made $folder. Your first admin key is in $folder/switchyard_bootstrap_key."
