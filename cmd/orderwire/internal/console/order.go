package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/orderwire/orderwire/cmd/orderwire/internal/report"
	"github.com/orderwire/orderwire/pipeline"
	"github.com/orderwire/orderwire/schema"
)

// orderPage is one order with its history.
type orderPage struct {
	Facts  []fact
	Status cell
	Lines  table
	Events []moved
	Note   string // what is missing of the history, "" for nothing
	Export string
}

// fact is a field of an order.
type fact struct {
	Name string
	Cell cell
}

// moved is an event of an order.
type moved struct {
	Version    uint64
	Sequence   uint64
	At         cell
	Type       cell
	Regression bool
	Changes    []changed
	Broken     string // why it cannot be read, "" when it can
}

// changed is what became of a field.
type changed struct{ Field, From, To, Title string }

// fieldNames name fields of the network as the facts of an order do.
var fieldNames = map[string]string{
	"OrdersPrice": "Estimated amount", "SiterCommission": "Estimated commission", "ConfirmPrice": "Confirmed amount", "ConfirmSiterCommission": "Confirmed commission",
	"ChargeTime": "Settled", "ChargeCurrency": "Confirmed currency", "OrderTime": "Ordered", "SubID": "Sub id", "LbOrderStatus": "status", "OrderStatus": "status as given",
}

// Name is the field's name for people.
func (c changed) Name() string {
	line, field := "", c.Field
	if at := strings.LastIndex(field, ", "); at >= 0 {
		line, field = field[:at+2], field[at+2:]
	}
	return line + cmp.Or(fieldNames[field], field)
}

// Shown are the changes without those of the network's own words for a line's status,
// which say the same again: they are the title of the status.
func (m moved) Shown() (all []changed) {
	for _, c := range m.Changes {
		line, words := strings.CutSuffix(c.Field, ", OrderStatus")
		if words && slices.ContainsFunc(m.Changes, func(o changed) bool { return o.Field == line+", LbOrderStatus" }) {
			continue
		}
		if line, ok := strings.CutSuffix(c.Field, ", LbOrderStatus"); ok {
			at := slices.IndexFunc(m.Changes, func(o changed) bool { return o.Field == line+", OrderStatus" })
			if at >= 0 {
				c.Title = m.Changes[at].From + " → " + m.Changes[at].To
			}
		}
		all = append(all, c)
	}
	return all
}

func (c *console) order(w http.ResponseWriter, r *http.Request) error {
	key, err := schema.ParseOrderKey(r.PathValue("key"))
	if err != nil {
		return &pageError{http.StatusNotFound, "That is not the address of an order."}
	}
	entries, note, err := c.history(r.Context(), key)
	if err != nil {
		return err
	}
	k := c.clock(r)
	p := orderPage{Note: note, Export: exportOf(r, "")}
	var last *schema.Event
	for i := range entries {
		p.Events = append(p.Events, movedBy(&entries[i], k))
		if entries[i].Event.ID != "" {
			last = &entries[i].Event
		}
	}
	if last == nil {
		state, err := c.Log.Load(r.Context(), key)
		if err != nil && !errors.Is(err, pipeline.ErrPoison) {
			return err
		}
		if last = state.Event; last == nil && len(entries) == 0 {
			return &pageError{http.StatusNotFound, "The log knows no order " + key.OrderSn + " of program " + key.Program + " in account " + key.Account + "."}
		}
	}
	if last != nil {
		p.describe(last, k)
	}
	p.Lines.sort(r)
	if wants(r, &p.Lines) {
		return writeFile(w, r, "order-lines", &p.Lines)
	}
	if asFile(r) {
		t := timelineTable(p.Events)
		return writeFile(w, r, "order-events", &t)
	}
	p.Lines.Export = exportOf(r, "lines")
	c.show(w, r, http.StatusOK, "order", page{Title: "Order " + key.OrderSn, At: "Orders", Body: p})
	return nil
}

// history returns an order's events that the log holds, the oldest first.
func (c *console) history(ctx context.Context, key schema.OrderKey) (all []schema.Entry, note string, err error) {
	h, err := report.Read(ctx, c.Log, key)
	switch {
	case h.Cut:
		note = "Only the newest events are shown."
	case h.Aged:
		note = "Older events have aged out of the log; the archive has them."
	}
	return h.Entries, note, err
}

func (p *orderPage) describe(e *schema.Event, k clock) {
	o := &e.Data.Order
	zone := k.zoneOf(e)
	p.Status = settlementCell(o.Status.String(), e.Type == schema.OrderVanished)
	estimated, confirmed := o.Currency.String(), o.ChargeCurrency.String()
	for _, f := range []fact{
		{"Status", p.Status}, {"Account", text(e.Data.Account)}, {"Program", text(strings.TrimSpace(o.ProgramID.String() + " " + o.ProgramName.String()))},
		{"Website", text(o.WebsiteID.String())}, {"Link", text(o.LinkID.String())}, {"Sub id", text(o.SubID.String())},
		{"Parent order", text(o.ParentOrderSn.String())}, {"Ordered", text(o.OrderTime.String())},
		{"Estimated amount", money(o.OrdersPrice, estimated)}, {"Estimated commission", money(o.SiterCommission, estimated)},
		{"Confirmed amount", money(o.ConfirmPrice, confirmed)}, {"Confirmed commission", money(o.ConfirmSiterCommission, confirmed)},
		{"Settled", text(o.ChargeTime.String())}, {"Time zone", text(e.Data.TimeZone)}, {"Seen so", moment(e.Data.ObservedAt, zone)},
		{"Version", text(strconv.FormatUint(e.Data.Version, 10))},
	} {
		if f.Cell.Text != "" {
			p.Facts = append(p.Facts, f)
		}
	}
	p.Lines = lineTable(o)
}

// lineTable shows the lines of an order, money as the network gave it.
func lineTable(o *schema.Order) table {
	t := table{ID: "lines", Caption: "Order lines", Head: columns("Item", "Name", "Shop", "Status", "#Price (CNY)", "#Count", "#Amount", "#Commission")}
	for i := range o.Details {
		l := &o.Details[i]
		t.Rows = append(t.Rows, []cell{
			text(l.ItemID.String()), text(l.ItemName.String()), text(l.ShopTitle.String()),
			{Text: lineName(l.LbOrderStatus.String()), Title: l.OrderStatus.String()},
			number(l.ItemPrice.String()), number(l.ItemCount.String()), number(l.OrdersPrice.String()), number(l.OrderCommission.String()),
		})
	}
	return t
}

func money(m schema.Money, currency string) cell {
	if m.String() == "" {
		return cell{}
	}
	return text(m.String() + " " + currency)
}

func movedBy(e *schema.Entry, k clock) moved {
	d := &e.Event.Data
	m := moved{Version: d.Version, Sequence: e.Sequence, Regression: d.Regression}
	if e.Event.ID == "" {
		m.Broken = "The message is no event."
		m.At = k.at(e.Stored, "")
		return m
	}
	m.At, m.Type = moment(d.ObservedAt, k.zoneOf(&e.Event)), typeCell(e.Event.Type)
	if e.Event.Type == schema.OrderCreated {
		o := &d.Order
		m.Changes = []changed{{"Status", "", settlementName(o.Status.String()), ""}, {"Estimated commission", "", money(o.SiterCommission, o.Currency.String()).Text, ""}}
	}
	for _, c := range d.Changes {
		m.Changes = append(m.Changes, changeOf(c))
	}
	slices.SortStableFunc(m.Changes, func(a, b changed) int { return cmp.Compare(rank(a), rank(b)) })
	return m
}

// rank puts the settlement status in front.
func rank(c changed) int {
	if c.Field == "Status" {
		return 0
	}
	return 1
}

func typeCell(t schema.EventType) cell {
	badge := map[schema.EventType]string{schema.OrderCreated: "good", schema.StatusChanged: "warn", schema.OrderVanished: "bad"}[t]
	if badge == "" {
		badge = "idle"
	}
	return cell{Text: string(t), Badge: badge}
}

// changeOf puts a change into words: statuses by name, everything else as given.
func changeOf(c schema.Change) changed {
	from, to := plain(c.From), plain(c.To)
	field := strings.TrimPrefix(c.Path, "/")
	switch {
	case field == "Status":
		from, to = settlementName(from), settlementName(to)
	case strings.HasSuffix(field, "/LbOrderStatus"):
		from, to = lineName(from), lineName(to)
	}
	if rest, ok := strings.CutPrefix(field, "Details/"); ok {
		if index, name, ok := strings.Cut(rest, "/"); ok {
			if n, err := strconv.Atoi(index); err == nil {
				field = "line " + strconv.Itoa(n+1) + ", " + name
			}
		}
	}
	return changed{field, from, to, ""}
}

// plain returns the text of a JSON string, or the JSON itself.
func plain(v jsontext.Value) string {
	var s string
	if v == nil {
		return ""
	}
	if json.Unmarshal(v, &s) != nil {
		return string(v)
	}
	return s
}

func lineName(status string) string {
	if s, err := schema.ParseLineStatus(status); err == nil {
		return s.String()
	}
	return status
}

// zoneOf returns the viewer's zone, or that of an event's account; UTC when this
// machine has none of that name.
func (k clock) zoneOf(e *schema.Event) *time.Location {
	if k.viewer != nil {
		return k.viewer
	}
	if zone, err := time.LoadLocation(e.Data.TimeZone); err == nil {
		return zone
	}
	return time.UTC
}

// timelineTable has a row for each change.
func timelineTable(events []moved) table {
	t := table{Caption: "Events", Head: columns("Version", "Sequence", "Time", "Event", "Field", "From", "To")}
	for i := range events {
		m := &events[i]
		head := []cell{text(strconv.FormatUint(m.Version, 10)), text(strconv.FormatUint(m.Sequence, 10)), m.At, m.Type}
		changes := m.Changes
		if len(changes) == 0 {
			changes = []changed{{}}
		}
		for _, c := range changes {
			t.Rows = append(t.Rows, append(head[:len(head):len(head)], text(c.Field), text(c.From), text(c.To)))
		}
	}
	return t
}
