package ssq

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// ErrTime reports a text that is not a time.
var ErrTime = errors.New("ssq: not a time")

// A time has one of two forms:
//
//	YYYYMMDDTHHMMSS  ISO 8601; fields may be left out from the left: 012000.
//	                 A zone may follow, +02 or -0330; without one it is UTC.
//	E1027728720      seconds since 1970-01-01 00:00:00 UTC
//
// The same shortened form is used for durations: 012000 is 1 h 20 min.

// AppendEpoch appends a time in the second form.
func AppendEpoch(b []byte, t time.Time) []byte {
	return strconv.AppendInt(append(b, 'E'), t.Unix(), 10)
}

// maxDuration is the longest duration that can be written: 99 days are two
// digits.
const maxDuration = 100*24*time.Hour - time.Second

// AppendDuration appends a duration as HHMMSS, from a day on as DDTHHMMSS.
// Fractions of seconds are left out; negative durations become 0, those above
// maxDuration maxDuration.
func AppendDuration(b []byte, d time.Duration) []byte {
	s := int(min(max(d, 0), maxDuration) / time.Second)
	two := func(n int) { b = append(b, byte('0'+n/10), byte('0'+n%10)) }
	if days := s / 86400; days > 0 {
		two(days)
		b = append(b, 'T')
	}
	two(s / 3600 % 24)
	two(s / 60 % 60)
	two(s % 60)
	return b
}

// ParseTime reads a time in either form. Missing fields are taken from now. The
// error is ErrTime.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if digits, epoch := cutEpoch(text); epoch {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || digits[0] == '+' || n < 0 || n > 1<<40 {
			return time.Time{}, ErrTime
		}
		return time.Unix(n, 0).UTC(), nil
	}
	digits, zone, ok := cutZone(text)
	if !ok {
		return time.Time{}, ErrTime
	}
	f, ok := parseFields(digits)
	if !ok {
		return time.Time{}, ErrTime
	}
	now = now.In(zone)
	for i, left := range []int{now.Year(), int(now.Month()), now.Day(), now.Hour(), now.Minute()} {
		if f[i] < 0 {
			f[i] = left
		}
	}
	t := time.Date(f[0], time.Month(f[1]), f[2], f[3], f[4], f[5], 0, zone)
	if t.Year() != f[0] || int(t.Month()) != f[1] || t.Day() != f[2] || t.Hour() != f[3] || t.Minute() != f[4] {
		return time.Time{}, ErrTime // such as February 30
	}
	return t.UTC(), nil
}

func cutEpoch(text string) (digits string, ok bool) {
	if len(text) < 2 || (text[0] != 'E' && text[0] != 'e') {
		return "", false
	}
	return text[1:], true
}

// cutZone removes the zone from the end of a time.
func cutZone(text string) (digits string, zone *time.Location, ok bool) {
	i := strings.IndexAny(text, "+-")
	if i < 0 {
		return text, time.UTC, true
	}
	offset := text[i+1:]
	if len(offset) != 2 && len(offset) != 4 {
		return "", nil, false
	}
	h, okH := twoDigits(offset)
	m, okM := 0, true
	if len(offset) == 4 {
		m, okM = twoDigits(offset[2:])
	}
	if !okH || !okM || h > 23 || m > 59 {
		return "", nil, false
	}
	seconds := (h*60 + m) * 60
	if text[i] == '-' {
		seconds = -seconds
	}
	return text[:i], time.FixedZone("", seconds), true
}

// parseFields reads year, month, day, hour, minute and second; -1 for missing
// ones.
func parseFields(text string) (f [6]int, ok bool) {
	f = [6]int{-1, -1, -1, -1, -1, -1}
	date, clock, dated := strings.Cut(text, "T")
	if !dated {
		date, clock = "", text
	}
	if clock == "" || len(clock) > 6 || len(clock)%2 != 0 || (dated && len(clock) != 6) {
		return f, false
	}
	digits, at := date+clock, 6
	if len(date) != 0 && len(date) != 2 && len(date) != 4 && len(date) != 8 {
		return f, false
	}
	highest := [6]int{99, 12, 31, 23, 59, 59}
	for len(digits) > 0 {
		at--
		n, isNumber := twoDigits(digits[len(digits)-2:])
		if digits = digits[:len(digits)-2]; at == 0 { // the year has four
			century, both := twoDigits(digits)
			n, isNumber, digits = n+century*100, isNumber && both, ""
		} else if n > highest[at] || (n == 0 && (at == 1 || at == 2)) {
			return f, false
		}
		if !isNumber {
			return f, false
		}
		f[at] = n
	}
	return f, true
}

func twoDigits(text string) (int, bool) {
	if len(text) < 2 || text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9' {
		return 0, false
	}
	return int(text[0]-'0')*10 + int(text[1]-'0'), true
}

// ParseDuration reads a duration: DDTHHMMSS, HHMMSS, MMSS or SS with hours up
// to 23 and minutes and seconds up to 59, or any other digits as seconds. Days
// are 0 to 99. The error is ErrTime.
func ParseDuration(text string) (time.Duration, error) {
	days, clock, dated := strings.Cut(text, "T")
	d := 0
	if !dated {
		clock = text
	} else {
		n, ok := twoDigits(days)
		if !ok || len(days) != 2 || len(clock) != 6 {
			return 0, ErrTime
		}
		d = n
	}
	if f, ok := parseFields(clock); ok {
		s := ((d*24+max(f[3], 0))*60+max(f[4], 0))*60 + f[5]
		return time.Duration(s) * time.Second, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, ErrTime
	}
	return time.Duration(n) * time.Second, nil
}
