// Package network is the affiliate network itself: the service of the API
// specification, on SQL, with a simulator that brings its orders to life and
// middleware that makes it fail. It exists so that a client of the API can be
// built, tested and loaded without a contract with a network.
//
// What it promises to a client:
//
//   - Every change of an order, the row and the line of its history, is one
//     transaction, and raises the order's update time (to the second).
//   - The same order gives the same bytes in a list and in a detail, until it
//     changes. Only [Config.OmitDetails] makes them differ.
//   - The pages of a list are ordered by (time field, id), and one page with its
//     Total is one state of the database. Between two pages the orders may
//     change, and one that is changed leaves its place in an UpdateTime window:
//     those behind it move up, as they do on live networks.
//   - A publisher sees its own orders only, and a brand those of its programs.
//   - A click whose id was given out is written, before the redirect or within
//     the time that the database was held by others; see clickLog.
//   - An order report that says nothing new changes nothing.
//   - Statistics are exact: they are kept in the transaction that changes an
//     order or writes a click, and one page of them is one state of the database.
//   - An order of the simulator brings the clicks with it of which it is the one
//     that was bought after: 12 to 90 on the average, by website, program and sub
//     id. They stand with the order as a number and count on its day.
//
// The database is a SQLite file or PostgreSQL (see [Config.DB]). Changes take
// turns in both; a list is read in a snapshot, while they go on.
//
// # Operations and statistics
//
// [Operations] is the table of all operations, and says which names are ours.
//
// Statistics are sums by publisher, day, program, website, sub id, currency and
// charge currency, and once more without sub ids, so that what does not ask for
// sub ids stays cheap: such a row stands for a website's day in a program. Sub
// ids are unbounded. One for every click costs some 100 bytes for every click, and
// a question that groups by them reads all rows of its days for each page: a few
// seconds for a million rows. One sub id alone has an index. A day is one of
// [Config.TimeZone].
//
// # Requests
//
// The body is JSON, application/x-www-form-urlencoded or multipart/form-data
// (specification 4, rule 2), in UTF-8 and at most 1 MiB; without a Content-Type
// it is read as JSON. The three hold the same parameters: every field of a form
// is a string, and an array of objects is sent in a form as its JSON text. No
// name may be there twice. A body has at most 256 parameters, nested at most 64
// deep, and a multipart form no files, because no operation takes one. Unknown
// parameters are signed like the others and otherwise ignored; what stands in
// the query of the address is ignored. A NUL character is refused, because not
// every database can hold it.
//
// The path is taken as it was sent: "{base}/{KEY}/{SERVICE}", where percent
// escapes are not undone. AppKey and Service may repeat it in the body and have
// to agree with it then.
//
// # Signature of a form
//
// In a form, Sign, AppKey, Timestamp and Service may also be spelled sign,
// app_key, timestamp and service (specification 5.1.4), one of the two each.
// What is signed is the JSON object of the fields without the signature, under
// the names in which they are sent, sorted by name byte by byte, without white
// space, and with every value as a string, between secret + path and secret as
// for a JSON body (specification 5.1.3). Values are signed as they are before
// they are escaped for the form. In a shell:
//
//	json='{"OrderSn":"A&B","ProgramId":"1042","app_key":"2312521","timestamp":"1692696195"}'
//	path=/2312521/svc.open-service.orders.detail.get
//	sign=$(printf %s "demo$path${json}demo" | openssl md5 -r | cut -c1-32 | tr a-f A-F)
//	curl "$base$path" -d app_key=2312521 -d timestamp=1692696195 -d ProgramId=1042 \
//	    --data-urlencode 'OrderSn=A&B' -d "sign=$sign" # 86528944432AF18F8CF621B46EA2D6FA
//
// As in JSON, "&" may also be signed as \u0026.
//
// # Order of the checks
//
// What is wrong with a request is told in this order: path and method, encoding
// and size of the body, the key, the body and its type, Sign, AppKey and Service
// and Timestamp, replay ([Config.RefuseReplays]), service name, parameters. For
// an ADS_KEY, which signs nothing, the service name comes before the body. A
// parameter's refusal names the parameter, the rule and the value's length,
// never the value.
//
// # Status codes
//
// Every answer has an envelope. HTTP is 200 for what a client has to read, and
// another status where HTTP itself fails:
//
//	Status  HTTP  Meaning
//	0       200   success
//	40001   200   the body is not what its Content-Type says, cannot be signed, or is of a type that is not taken
//	40002   200   a parameter is missing or breaks the rule of its type
//	40003   200   Stime and Etime are too far apart
//	40101   200   the App Key or ADS_KEY of the path is not known
//	40102   200   Sign is not the signature of this request
//	40103   200   Timestamp is too far from the service's clock
//	40104   200   this signed request was taken already (only when replays are refused)
//	40301   200   the program does not take this: a target outside its domains, another currency, a closed program
//	40302   200   ClickId is not known, or its click is too old, of another program, or not the order's
//	40400   404   nothing has this path
//	40401   200   the publisher has no such order or website
//	40402   200   the service name of the path is not known to this side
//	40500   405   the method is not POST
//	40901   200   the report contradicts what the order is; the message says where
//	41300   413   the body has more than 1 MiB
//	42900   429   too many requests; Retry-After says when to come back
//	50000   200   the service failed; the same request may pass later
//	50300   503   too many requests at once; Retry-After says when to come back
//	50301   200   system busy; the same request may pass later
//
// "Specification" with a section number means the network's API specification.
// What it leaves open is answered as live networks of this API family do.
package network
