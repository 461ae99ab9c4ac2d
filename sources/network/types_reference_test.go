package network

import (
	"regexp"
	"strconv"
	"strings"
)

// The types of specification 2.1 as patterns.
var (
	integerPattern  = regexp.MustCompile(`^-?[0-9]{1,16}$`)
	decimalPattern  = regexp.MustCompile(`^-?[0-9]{1,8}(\.[0-9]{1,2})?$`)
	currencyPattern = regexp.MustCompile(`^[A-Z]{3}$`)
	extendedPattern = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(Z|[+-]\d\d:\d\d)?)?$`)
	basicPattern    = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?:[.,]\d+)?(Z|[+-]\d\d\d\d)?$`)
)

// currencies are some that everybody has to know.
var currencies = []string{"CNY", "USD", "EUR", "JPY", "GBP", "HKD", "SGD", "AUD", "CAD", "CHF", "KRW", "INR", "BRL", "ZAR", "RUB", "THB"}

// slowDateTime counts the days of a date one by one. zone is that of a time
// that names none, in seconds.
func slowDateTime(text string, zone int64) (unix int64, ok bool) {
	m := extendedPattern.FindStringSubmatch(text)
	if m == nil {
		m = basicPattern.FindStringSubmatch(text)
	}
	if m == nil {
		return 0, false
	}
	n := func(i int) int64 { // 0 for what is not there
		v, err := strconv.ParseInt("0"+m[i], 10, 64)
		if err != nil {
			panic(err)
		}
		return v
	}
	year, month, day := n(1), n(2), n(3)
	if month < 1 || month > 12 || day < 1 || day > daysOf(year, month) || n(4) > 23 || n(5) > 59 || n(6) > 59 {
		return 0, false
	}
	switch offset := strings.ReplaceAll(m[7], ":", ""); {
	case offset == "Z":
		zone = 0
	case offset != "":
		hours, _ := strconv.ParseInt(offset[1:3], 10, 64)
		minutes, _ := strconv.ParseInt(offset[3:], 10, 64)
		if hours > 23 || minutes > 59 {
			return 0, false
		}
		if zone = hours*3600 + minutes*60; offset[0] == '-' {
			zone = -zone
		}
	}
	days := day - 1
	for m := int64(1); m < month; m++ {
		days += daysOf(year, m)
	}
	for y := min(year, 1970); y < max(year, 1970); y++ {
		length := 365 + daysOf(y, 2) - 28
		if year < 1970 {
			length = -length
		}
		days += length
	}
	return days*86400 + n(4)*3600 + n(5)*60 + n(6) - zone, true
}

func daysOf(year, month int64) int64 {
	switch {
	case month == 2 && (year%4 == 0 && year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	default:
		return 31
	}
}
