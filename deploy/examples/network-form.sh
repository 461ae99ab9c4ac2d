#!/bin/sh
# From a link to a commission with application/x-www-form-urlencoded bodies. See
# network-steps.sh for what it does and for its environment.
set -eu
. "$(dirname "$0")/network-steps.sh"

# fields PATH NAME=VALUE... sends the fields of a form.
fields() {
	path=$1; shift
	for field; do
		set -- "$@" --data-urlencode "$field"; shift
	done
	post "$path" "$@"
}

publisher() {
	service=$1; shift
	set -- "$@" "app_key=$APP_KEY" "service=$service" "timestamp=$(date +%s)"
	fields "$APP_KEY/$service" "$@" "sign=$(signature "$service" "$(strings "$@")")"
}

brand() {
	service=$1; shift
	fields "$ADS_KEY/$service" "$@"
}

steps
