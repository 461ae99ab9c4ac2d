package main

import "github.com/orderwire/orderwire/cmd/orderwire/internal/report"

// reportHelp is what the commands of report say of themselves.
var reportHelp = map[string]struct{ short, long, example string }{
	report.Earnings: {
		short: "Print the commission sums (as report alone does)",
		long: `Prints orders, order amount and commission by account, program, website, sub id,
currency, status and day of order. Every order counts once, under its present
status: a pending one with its estimate in the order's currency, a confirmed or
approved one with its confirmed commission in the charge currency, an invalid one
with no commission. It works beside a running "orderwire run" and after it.

--by adds up by what it names. --day posting shows what each day changed: an order
that goes from one status to another is taken out of the one and put into the other.

--in EUR converts all of it to EUR, at the rates of the file that commission.rates
of the configuration names, or --rates. It has lines of date,from,to,rate; a day takes
its own rate or the newest of the 7 days before, and a rate that is missing is an error.`,
		example: `  orderwire report -c orderwire.yaml
  orderwire report -c orderwire.yaml -o json --status 2 --from 2026-11-01
  orderwire report -c orderwire.yaml --by month,program --in EUR`,
	},
	report.SubIDs: {short: "Print earnings by sub id and status"},
	report.Statement: {
		short: "Print what a month brought to the ledger",
		long: `Prints opening, movement and closing of each account of the ledger and currency for
a month, by default the present one. What is expected from the network is positive:
estimated, confirmed, approved; reversed is what was lost. earnings, adjustment and
conversion are the other sides. In each currency a column adds up to 0.

--check reads every entry of a closed month again and compares it with the SHA-256
and the sums that were kept when it was closed.`,
		example: `  orderwire report statement -c orderwire.yaml --month 2026-10
  orderwire report statement -c orderwire.yaml --month 2026-10 --check`,
	},
	report.Ageing: {short: "Print the pending commission by days since the order"},
	report.Reversals: {
		short: "Print reversal rate and approval time by program",
		long: `Prints by program which part of the decided orders was reversed (invalid, or under a
status that the network does not document), and after how many days 50, 90 and 99 of
100 approved orders were approved: from the day of the order to the settlement that
the network names, or to the day on which the approval was seen.`,
	},
	report.Overdue: {
		short: "Print the pending orders that are late for their program",
		long: `Prints the pending orders that are older than 90 of 100 approved orders of their
program were when they were approved. Programs with fewer than 20 approved orders are
left out, and so are orders that have vanished from the network.`,
	},
	report.EstimatedAndConfirmed: {short: "Print what was estimated of settled orders, and what came"},
	report.Clicks: {
		short: "Print clicks, conversion rate and earnings per click",
		long: `Prints the clicks that the network counts beside the orders and the commission of the
books, of the last 30 days unless --from and --to say otherwise, by day unless --by says
otherwise: day, program, website, sub_id.

The conversion rate is orders by clicks, and EPC is the commission of 100 clicks. Clicks
count on their day and orders on theirs, in the network's zone; orders count in any
status, and commission as in "report earnings". A group with orders in two currencies
has two rows with the same clicks, and their rates and EPC add up; --in makes them one.

The network's specification names statistics and shows no operation for them. Asked is
the one of "orderwire network"; a network without it refuses.`,
		example: `  orderwire report clicks -c orderwire.yaml --by program,sub_id --in EUR`,
	},
	report.Conversions: {short: "Print the orders that were confirmed in another currency"},
}
