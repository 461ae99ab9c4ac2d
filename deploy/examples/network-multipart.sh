#!/bin/sh
# From a link to a commission with multipart/form-data bodies. See
# network-steps.sh for what it does and for its environment.
set -eu
. "$(dirname "$0")/network-steps.sh"

form_bodies --form-string
steps
