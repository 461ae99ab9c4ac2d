#!/bin/sh
# From a link to a commission with JSON bodies. See network-steps.sh for what it
# does and for its environment.
set -eu
. "$(dirname "$0")/network-steps.sh"

publisher() {
	service=$1; shift
	parameters=$(json "$@" "Timestamp=$(date +%s)")
	post "$APP_KEY/$service" -H 'Content-Type: application/json' \
		--data-binary "${parameters%?},\"Sign\":\"$(signature "$service" "$parameters")\"}"
}

brand() {
	service=$1; shift
	post "$ADS_KEY/$service" -H 'Content-Type: application/json' --data-binary "$(json "$@")"
}

steps
