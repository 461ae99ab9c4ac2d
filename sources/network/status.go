package network

import "net/http"

// Status is the outcome in an answer's envelope. The specification leaves the
// values open (7.3 to 7.5); these are ours, and [Statuses] tells their meaning.
type Status int

// The values of Status. Zero is success; the others are five digits, whose
// first three are those of the HTTP status with a like meaning.
const (
	StatusSuccess    Status = 0
	StatusBody       Status = 40001
	StatusParameter  Status = 40002
	StatusSpan       Status = 40003
	StatusUnknownKey Status = 40101
	StatusSignature  Status = 40102
	StatusTimestamp  Status = 40103
	StatusReplay     Status = 40104
	StatusNotAllowed Status = 40301
	StatusClick      Status = 40302
	StatusNoRoute    Status = 40400
	StatusNotFound   Status = 40401
	StatusNoService  Status = 40402
	StatusMethod     Status = 40500
	StatusConflict   Status = 40901
	StatusTooLarge   Status = 41300
	StatusTooMany    Status = 42900
	StatusInternal   Status = 50000
	StatusOverload   Status = 50300
	StatusBusy       Status = 50301
)

// StatusInfo documents a Status.
type StatusInfo struct {
	Status Status
	// HTTP is the HTTP status of the answer: 200 for everything that a client
	// has to read, another one where HTTP itself fails. Every answer has an
	// envelope as its body.
	HTTP int
	// Meaning is for the documentation.
	Meaning string
}

var statuses = []StatusInfo{
	{StatusSuccess, http.StatusOK, "success"},
	{StatusBody, http.StatusOK, "the body is not what its Content-Type says, cannot be signed, or is of a type that is not taken"},
	{StatusParameter, http.StatusOK, "a parameter is missing or breaks the rule of its type"},
	{StatusSpan, http.StatusOK, "Stime and Etime are too far apart"},
	{StatusUnknownKey, http.StatusOK, "the App Key or ADS_KEY of the path is not known"},
	{StatusSignature, http.StatusOK, "Sign is not the signature of this request"},
	{StatusTimestamp, http.StatusOK, "Timestamp is too far from the service's clock"},
	{StatusReplay, http.StatusOK, "this signed request was taken already (only when replays are refused)"},
	{StatusNotAllowed, http.StatusOK, "the program does not take this: a target outside its domains, another currency, a closed program"},
	{StatusClick, http.StatusOK, "ClickId is not known, or its click is too old, of another program, or not the order's"},
	{StatusNoRoute, http.StatusNotFound, "nothing has this path"},
	{StatusNotFound, http.StatusOK, "the publisher has no such order or website"},
	{StatusNoService, http.StatusOK, "the service name of the path is not known to this side"},
	{StatusMethod, http.StatusMethodNotAllowed, "the method is not POST"},
	{StatusConflict, http.StatusOK, "the report contradicts what the order is; the message says where"},
	{StatusTooLarge, http.StatusRequestEntityTooLarge, "the body has more than 1 MiB"},
	{StatusTooMany, http.StatusTooManyRequests, "too many requests; Retry-After says when to come back"},
	{StatusInternal, http.StatusOK, "the service failed; the same request may pass later"},
	{StatusOverload, http.StatusServiceUnavailable, "too many requests at once; Retry-After says when to come back"},
	{StatusBusy, http.StatusOK, "system busy; the same request may pass later"},
}

// Statuses returns the table of all values, in ascending order.
func Statuses() []StatusInfo { return append([]StatusInfo(nil), statuses...) }

// HTTP returns the HTTP status that goes with s, 200 for a value that is not
// in the table.
func (s Status) HTTP() int {
	for _, e := range statuses {
		if e.Status == s {
			return e.HTTP
		}
	}
	return http.StatusOK
}
