package peerchat

import (
	"encoding/binary"
	"math"
	"net/netip"
	"time"
)

// coder writes or reads the fields of an event. The same calls do both, so that the
// two cannot differ. Numbers are varints, texts have their length in front. Fields that are
// written are only read: several goroutines write an entry at a time.
type coder struct {
	buf     []byte
	reading bool
	bad     bool // something was too long, too short or not valid; all that follows is zero
}

// num is an unsigned number.
func (c *coder) num(v *uint64) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	n := 0
	if *v, n = binary.Uvarint(c.buf); n <= 0 {
		c.fail()
		*v = 0
		return
	}
	c.buf = c.buf[n:]
}

// count is a number that an int holds, from 0 to most.
func (c *coder) count(v *int, most int) {
	n := uint64(*v)
	if c.num(&n); n > uint64(most) {
		c.fail()
		n = 0
	}
	if c.reading {
		*v = int(n)
	}
}

func (c *coder) letter(v *byte) {
	n := int(*v)
	if c.count(&n, math.MaxUint8); c.reading {
		*v = byte(n)
	}
}

// flag is a truth value.
func (c *coder) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	if c.count(&n, 1); c.reading {
		*v = n == 1
	}
}

// text is a text of at most that many bytes. A read one is a copy.
func (c *coder) text(v *string, most int) {
	n := len(*v)
	c.count(&n, most)
	if !c.reading {
		c.buf = append(c.buf, *v...)
		return
	}
	if n > len(c.buf) {
		c.fail()
	}
	if c.bad {
		*v = ""
		return
	}
	*v = string(c.buf[:n])
	c.buf = c.buf[n:]
}

// moment is a time, to the nanosecond; the zero time is 0.
func (c *coder) moment(v *time.Time) {
	var n uint64
	if !v.IsZero() {
		n = uint64(v.UnixNano())
	}
	c.num(&n)
	if !c.reading {
		return
	}
	if *v = (time.Time{}); n != 0 {
		*v = time.Unix(0, int64(n))
	}
}

func (c *coder) addr(v *netip.AddrPort) {
	var text string
	if v.IsValid() {
		text = v.String()
	}
	c.text(&text, 64)
	if !c.reading || text == "" {
		return
	}
	a, err := netip.ParseAddrPort(text)
	if err != nil {
		c.fail()
	}
	*v = a
}

func (c *coder) fail() {
	c.bad = true
	c.buf = nil
}

// codeList codes a list of at most that many elements.
func codeList[T any](c *coder, list *[]T, most int, each func(*coder, *T)) {
	n := len(*list)
	c.count(&n, most)
	if !c.reading {
		for i := range *list {
			each(c, &(*list)[i])
		}
		return
	}
	*list = nil
	for range n {
		var v T
		if each(c, &v); c.bad {
			*list = nil
			return
		}
		*list = append(*list, v)
	}
}
