package network

// OperationInfo documents one operation for one side.
type OperationInfo struct {
	Service string // service name, without the first segment, which is [Config.ServicePrefix]
	Side    Side
	// Ours marks a name that the specification does not have. It names some as
	// capabilities without operations (sections 1, 4 and 5.2).
	Ours    bool
	Purpose string
}

// Side is who may call an operation: the key of the path decides.
type Side string

// The two sides of the API.
const (
	PublisherSide  Side = "publisher"  // App Key, signed (specification 5.1)
	AdvertiserSide Side = "advertiser" // ADS_KEY, not signed (specification 5.2)
)

// The name of orders.settlement.get is that of live networks.
var operations = []OperationInfo{
	{"service.links.post", PublisherSide, false, "get a link to an address of an open program"},
	{"open-service.orders.query.get", PublisherSide, false, "orders by a time, of at most 1 day, in pages"},
	{"open-service.orders.detail.get", PublisherSide, false, "one order"},
	{"open-service.orders.settlement.get", PublisherSide, true, "changes of confirmed amounts by their time, of at most 1 day, in pages"},
	{"open-service.programs.query.get", PublisherSide, true, "open programs, by category and keyword, in pages"},
	{"open-service.programs.detail.get", PublisherSide, true, "one program with its commission rates"},
	{"open-service.materials.query.get", PublisherSide, true, "promotional materials of open programs, within their time, in pages"},
	{"open-service.statistics.get", PublisherSide, true, "clicks, orders, amounts and commissions by day, program, website, sub id, in pages"},
	{"service.orders.post", AdvertiserSide, true, "report an order or its new state"},
	{"open-service.orders.query.get", AdvertiserSide, true, "the brand's own orders by a time, of at most 1 day, in pages"},
	{"open-service.orders.detail.get", AdvertiserSide, true, "one of the brand's own orders"},
	{"open-service.programs.query.get", AdvertiserSide, true, "the brand's own programs, closed ones too, in pages"},
}

// Operations returns the table of all operations.
func Operations() []OperationInfo { return append([]OperationInfo(nil), operations...) }
