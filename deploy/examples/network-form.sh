#!/bin/sh
# From a link to a commission with application/x-www-form-urlencoded bodies. See
# network-steps.sh for what it does and for its environment.
set -eu
. "$(dirname "$0")/network-steps.sh"

form_bodies --data-urlencode
steps
