package console

import (
	"strconv"

	"github.com/dustin/go-humanize"
)

// scale returns the ticks of a scale for amounts up to a greatest, in hundredths: how
// far one is from the next, which is 1, 2, 2.5 or 5 times a power of ten, and how many
// there are above 0. The greatest fills three quarters of the scale or more.
func scale(greatest int64) (tick, ticks int64) {
	const fewest, most = 3, 6
	greatest = max(greatest, 1)
	for unit := int64(1); ; unit *= 10 {
		for _, tenths := range []int64{10, 20, 25, 50} {
			tick := unit * tenths / 10
			if tick*10 != unit*tenths {
				continue // 2.5 hundredths
			}
			if ticks := (greatest + tick - 1) / tick; ticks <= most {
				return tick, max(ticks, fewest)
			}
		}
	}
}

// tickText writes a value of the scale shortly: with decimals where its ticks have
// them, and large ones in thousands or millions.
func tickText(cents, tick int64) string {
	if tick%100 != 0 {
		return grouped(cents)
	}
	units, suffixes := cents/100, []string{"k", "M", "G", "T"}
	if units < 10_000 {
		return humanize.Comma(units)
	}
	tenths, at := units/100, 0
	for tenths >= 100_000 && at < len(suffixes)-1 {
		tenths, at = tenths/1000, at+1
	}
	text := humanize.Comma(tenths / 10)
	if tenths%10 != 0 {
		text += "." + strconv.FormatInt(tenths%10, 10)
	}
	return text + suffixes[at]
}
