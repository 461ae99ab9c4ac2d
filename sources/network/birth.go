package network

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/orderwire/orderwire/schema"
)

// ErrNoWebsite says that no publisher has a website, so that the simulator has
// nobody to give orders to.
var ErrNoWebsite = errors.New("no publisher has a website, add one first")

// promoter is a publisher that orders can come through.
type promoter struct {
	id       int64
	websites []string
}

// cast is who takes part in the simulation.
type cast struct {
	seed      uint64
	promoters []promoter
	links     map[[2]string]string // LinkId by website and program
}

// cast loads the publishers that have websites, in the order of their numbers.
func (c *change) cast(ctx context.Context, seed uint64) (*cast, error) {
	st, err := c.statement(ctx, `SELECT publisher_id, id FROM websites ORDER BY publisher_id, id`)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("publishers: %w", err)
	}
	defer rows.Close()
	all := &cast{seed: seed, links: map[[2]string]string{}}
	for rows.Next() {
		var publisher int64
		var website string
		if err := rows.Scan(&publisher, &website); err != nil {
			return nil, fmt.Errorf("publishers: %w", err)
		}
		all.add(publisher, website)
	}
	if len(all.promoters) == 0 && rows.Err() == nil {
		return nil, ErrNoWebsite
	}
	return all, rows.Err()
}

func (a *cast) add(publisher int64, website string) {
	if n := len(a.promoters); n == 0 || a.promoters[n-1].id != publisher {
		a.promoters = append(a.promoters, promoter{id: publisher})
	}
	last := &a.promoters[len(a.promoters)-1]
	last.websites = append(last.websites, website)
}

// newborn is an order before its first change.
type newborn struct {
	life
	age float64 // how long ago it was placed, from 0 (now) to 1 (the whole history)
}

// born makes the order with a number of the simulation, from 0 on. Publishers
// take turns.
func (a *cast) born(ctx context.Context, c *change, number uint64) (newborn, error) {
	dice := newDice(a.seed, number, 0)
	age := dice.Float64()
	p, serial := a.identity(number)
	by := a.promoters[number%uint64(len(a.promoters))]
	o := &order{
		publisher: by.id, program: p.id, programName: p.name, website: pick(dice, by.websites),
		subID: pick(dice, subIDs), sn: fmt.Sprintf(p.serial, serial), currency: p.currency, status: schema.Pending,
	}
	if chance(dice, 10) {
		o.parentSn = "P" + o.sn
	}
	var err error
	if o.link, err = a.link(ctx, c, o, p); err != nil {
		return newborn{}, err
	}
	b := newborn{life{order: o, program: p, dice: dice}, age}
	b.fill()
	o.clicks = clicksFor(dice, a.seed, o)
	return b, nil
}

// identity draws the program of an order and its serial number there. Every
// tenth order repeats the serial number of the one before it in another
// program, because order numbers are unique only within a program.
func (a *cast) identity(number uint64) (*program, uint64) {
	draw := func(n uint64) uint64 { return newDice(a.seed, n, 0).Uint64N(uint64(len(catalogue))) }
	if number%10 == 9 {
		next := (draw(number-1) + 1) % uint64(len(catalogue))
		return &catalogue[next], number
	}
	return &catalogue[draw(number)], number + 1
}

// link returns the LinkId of the order's website and program.
func (a *cast) link(ctx context.Context, c *change, o *order, p *program) (string, error) {
	key := [2]string{o.website, p.id}
	if id, known := a.links[key]; known {
		return id, nil
	}
	r := linkRequest{publisher: o.publisher, website: o.website, target: "https://" + p.domain + "/", program: p.id}
	l, err := c.storedLink(ctx, r)
	if err == nil && l.program == "" { // none, or one from before programs had domains
		l, err = c.saveLink(ctx, l, r)
	}
	if err != nil {
		return "", err
	}
	a.links[key] = strconv.FormatInt(l.id, 10)
	return a.links[key], nil
}

// fill gives the order one to four lines, and adds their amounts up.
func (b *newborn) fill() {
	state := schema.LinePaid
	if chance(b.dice, 60) {
		state = schema.LineToBePaid
	}
	count := 1 + b.dice.IntN(4)
	for range count {
		line, price, commission := b.line(pick(b.dice, goods))
		b.setState(&line, state)
		b.order.price += price
		b.order.commission += commission
		b.lines = append(b.lines, line)
	}
}

// line makes an order line.
func (b *newborn) line(g good) (line schema.OrderLine, price, commission cents) {
	count := lineCount(b.dice)
	price = exchange(g.price*cents(count), "CNY", b.order.currency)
	commission = b.program.commissionOf(price)
	line = schema.OrderLine{
		GoodsCate: text(g.category), ItemCate: text(g.categoryID), ItemCateName: text(g.categoryName),
		ItemID: text(g.id), ItemName: text(g.name), ItemPrice: text(g.price.money().String()),
		ItemCount: text(strconv.Itoa(count)), OrdersPrice: price.money(), OrderCommission: commission.money(),
		OrderSn: text(b.order.sn), ParentOrderSn: text(b.order.parentSn),
		ItemImg: text("https://img.example/" + g.id + ".jpg"), ShopTitle: text(g.shop),
	}
	return line, price, commission
}

// lineCount draws how many pieces of an article are bought; mostly one.
func lineCount(dice *rand.Rand) int {
	if chance(dice, 75) {
		return 1
	}
	return 2 + dice.IntN(4)
}

// text makes a field of a line; one without a value is absent.
func text(s string) schema.Text {
	if s == "" {
		return schema.Text{}
	}
	return schema.NewText(s)
}
