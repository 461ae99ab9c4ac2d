# From a link to a commission: what the scripts network-json.sh, network-form.sh
# and network-multipart.sh do, with curl, openssl and text tools alone. Each of
# them says how a call is sent, in the functions
#
#     publisher SERVICE NAME=VALUE...    a call with the App Key, signed
#     brand SERVICE NAME=VALUE...        a call with the ADS_KEY
#
# which print the answer. Environment:
#
#     BASE        address of the service     http://127.0.0.1:8090
#     APP_KEY     App Key of a publisher     2312521
#     APP_SECRET  its App Secret             demo
#     ADS_KEY     ADS_KEY of a brand         ads-1
#     WEBSITE_ID  website of the publisher   1026
#     TARGET      address in the domain of one of the brand's programs
#                                            https://shop.example/kettles?id=1&ref=2

: "${BASE:=http://127.0.0.1:8090}" "${APP_KEY:=2312521}" "${APP_SECRET:=demo}" "${ADS_KEY:=ads-1}"
: "${WEBSITE_ID:=1026}" "${TARGET:=https://shop.example/kettles?id=1&ref=2}"

say() { printf '%s\n' "$*"; }
fail() { printf 'failed: %s\n' "$*" >&2; exit 1; }

# json NAME=VALUE... writes the object that holds the parameters, sorted by name
# and compact. Seconds stand as numbers, and order lines as the array that they
# are; everything else is a string.
json() { object numbers "$@"; }

# strings NAME=VALUE... is json with strings alone, which is how a form is signed.
strings() { object strings "$@"; }

object() {
	kind=$1; shift
	printf '%s\n' "$@" | LC_ALL=C sort | {
		separator='{'
		while IFS= read -r parameter; do
			name=${parameter%%=*} value=${parameter#*=}
			case $kind$name in
			numbersTimestamp | numbersStime | numbersEtime | numbersItemDetails) ;;
			*) value=\"$(printf '%s' "$value" | sed 's/[\\"]/\\&/g')\" ;;
			esac
			printf '%s"%s":%s' "$separator" "$name" "$value"
			separator=,
		done
		printf '}'
	}
}

# signature SERVICE JSON signs a call: MD5 of secret, path, parameters, secret.
signature() {
	printf '%s' "$APP_SECRET/$APP_KEY/$1$2$APP_SECRET" | openssl md5 | sed 's/.* //' | tr a-f A-F
}

# post KEY/SERVICE OPTIONS... sends a call. A service that is still starting is
# waited for.
post() {
	path=$1; shift
	curl -sS --max-time 30 --retry 10 --retry-delay 1 --retry-connrefused "$@" "$BASE/$path" ||
		fail "no answer from $BASE, is the service running there?"
}

# ask SIDE SERVICE NAME=VALUE... makes a call, which has to succeed, and keeps
# its answer.
ask() {
	answer=$("$@") || exit 1
	case $answer in
	'{"Status":0,'*) ;;
	*) fail "$2 as $1: want Status 0, got $answer" ;;
	esac
}

# field NAME prints the text of a field of the answer, the first one if there are several.
field() { printf '%s' "$answer" | grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | sed 's/^[^:]*:"//; s/"$//'; }

# want NAME VALUE checks a field of the answer.
want() {
	printf '%s' "$answer" | grep -qF "\"$1\":\"$2\"" || fail "$step: want $1 \"$2\", got $answer"
	say "    $1 is $2"
}

# begin TEXT tells what comes next.
begin() { step=$1; say "$step"; }

# steps walks through everything.
steps() {
	start=$(date +%s)
	sub=example-$start-$$ order=EX-$start-$$

	begin "get a link to $TARGET"
	ask publisher svc.service.links.post "SubId=$sub" "Url=$TARGET" "WebsiteId=$WEBSITE_ID"
	link=$(field Url) link_id=$(field LinkId) program=$(field ProgramId)
	[ -n "$link" ] && [ -n "$program" ] || fail "$step: want Url and ProgramId, got $answer"
	say "    $link leads into program $program"

	begin 'click it'
	headers=$(curl -sS --max-time 30 -i "$link" | tr -d '\r') || fail "no answer from $link"
	target=$(printf '%s\n' "$headers" | sed -n 's/^[Ll]ocation: //p')
	click=$(printf '%s\n' "$target" | sed -n 's/.*[?&]click_id=\([^&#]*\).*/\1/p')
	printf '%s\n' "$headers" | head -n 1 | grep -q ' 302' || fail "$step: want HTTP 302, got $headers"
	[ -n "$click" ] || fail "$step: want click_id in the target, got $target"
	say "    on to $target"

	begin "report order $order as the brand"
	set -- "OrderId=$order" "ProgramId=$program" "ClickId=$click" "TransactionTime=$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
		Amount=259.90 IsNewCustomer=1 PromoCode=AUTUMN \
		'ItemDetails=[{"ItemId":"K-1","ItemName":"Kettle \"Dragon\"","Quantity":2,"Price":"129.95","PayAmount":"259.90"}]'
	ask brand svc.service.orders.post "$@"
	commission=$(field SiterCommission)
	want OrderSn "$order"; want Status 0; want Created 1
	[ -n "$commission" ] || fail "$step: want SiterCommission, got $answer"
	say "    SiterCommission is $commission"

	begin 'report it again: nothing changes'
	ask brand svc.service.orders.post "$@"
	want Created 0; want SiterCommission "$commission"

	begin 'confirm it'
	ask brand svc.service.orders.post "OrderId=$order" "ProgramId=$program" Status=1
	want Status 1

	begin 'read it as the publisher: detail'
	ask publisher svc.open-service.orders.detail.get "ProgramId=$program" "OrderSn=$order"
	wants
	want LinkId "$link_id"; want ItemId K-1; want ItemCount 2
	placed=$(field OrderTime)

	begin 'read it as the publisher: list'
	set -- "Stime=$((start - 300))" "Etime=$(($(date +%s) + 300))" "SubId=$sub"
	ask publisher svc.open-service.orders.query.get "$@"
	wants
	want OrderTime "$placed"
	printf '%s' "$answer" | grep -q '"Total":1,' || fail "$step: want a Total of 1, got $answer"

	begin 'read it as the publisher: statistics'
	ask publisher svc.open-service.statistics.get "$@" GroupBy=ProgramId
	want ProgramId "$program"; want Clicks 1; want Orders 1; want ConfirmedOrders 1
	want OrdersPrice 259.90; want SiterCommission "$commission"; want ConfirmPrice 259.90
	say "done: order $order of link $link_id earns $commission"
}

# wants checks the order in a detail or a list.
wants() {
	want OrderSn "$order"; want ProgramId "$program"; want WebsiteId "$WEBSITE_ID"; want SubId "$sub"; want Status 1
	want OrdersPrice 259.90; want SiterCommission "$commission"; want ConfirmPrice 259.90
}

# form_bodies OPTION has publisher and brand send forms, whose fields curl takes by
# that option.
form_bodies() {
	field=$1

	# fields PATH NAME=VALUE... sends the fields of a form.
	fields() {
		path=$1; shift
		for pair; do
			set -- "$@" "$field" "$pair"; shift
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
}
