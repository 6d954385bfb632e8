package ssq

import "time"

// AppendTime appends a time in the first form, in UTC. Years are 0 to 9999.
func AppendTime(b []byte, t time.Time) []byte { return t.UTC().AppendFormat(b, "20060102T150405") }
