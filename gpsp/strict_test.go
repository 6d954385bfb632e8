package gpsp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// strictReader reads a reply as the original client does: pairs in their order,
// and nothing that it does not expect.
type strictReader struct {
	rest       string
	key, value string
	over       bool
}

var errClient = errors.New("the client gives up")

// next reads a pair; over is true at the end.
func (r *strictReader) next() error {
	if r.rest == "" {
		r.over = true
		return nil
	}
	if r.rest[0] != '\\' {
		return fmt.Errorf("%w: no key at %q", errClient, r.rest)
	}
	key, rest, ok := strings.Cut(r.rest[1:], `\`)
	if !ok {
		return fmt.Errorf("%w: key %q without value", errClient, key)
	}
	i := strings.IndexByte(rest, '\\')
	if i < 0 {
		i = len(rest)
	}
	r.key, r.value, r.rest = key, rest[:i], rest[i:]
	if len(r.key) > maxValue || len(r.value) > maxValue {
		return fmt.Errorf("%w: %d bytes of key, %d of value", errClient, len(r.key), len(r.value))
	}
	return nil
}

// want reads a pair with that key.
func (r *strictReader) want(key string) error {
	if err := r.next(); err != nil {
		return err
	}
	if r.over || r.key != key {
		return fmt.Errorf("%w: key %q, want %q", errClient, r.key, key)
	}
	return nil
}

// rows reads rows that begin with the key row until the key end. strict rows
// have all of the keys in order, others may have any.
func (r *strictReader) rows(row, end string, strict bool, keys ...string) (n int, err error) {
	if err := r.next(); err != nil {
		return 0, err
	}
	for ; r.key != end; n++ {
		if r.over || r.key != row {
			return n, fmt.Errorf("%w: key %q, want %q or %q", errClient, r.key, row, end)
		}
		for _, key := range keys {
			if strict {
				if err := r.want(key); err != nil {
					return n, err
				}
			}
		}
		if err := r.next(); err != nil {
			return n, err
		}
		for !strict && !r.over && r.key != row && r.key != end {
			if err := r.next(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// acceptable returns why the original client would not take a reply to a
// command, nil if it would.
func acceptable(command, text string) error {
	i := strings.Index(text, `\final\`)
	if i < 0 {
		return fmt.Errorf("%w: no end", errClient)
	}
	text = text[:i+len(`\final\`)] // it is read like any other pair
	if strings.HasPrefix(text, `\error\`) {
		if strings.Contains(text, `\fatal\`) {
			return fmt.Errorf("%w: fatal error", errClient)
		}
		return nil
	}
	r := &strictReader{rest: text}
	switch command {
	case "valid":
		return r.want("vr")
	case "nicks":
		if err := r.want("nr"); err != nil {
			return err
		}
		_, err := r.rows("nick", "ndone", true, "uniquenick")
		return err
	case "check", "newuser":
		key := map[string]string{"check": "cur", "newuser": "nur"}[command]
		if err := r.want(key); err != nil {
			return err
		}
		if n, _ := strconv.Atoi(r.value); n != 0 {
			return nil
		}
		return r.want("pid")
	case "search", "searchunique":
		if _, err := r.rows("bsr", "bsrdone", false); err != nil {
			return err
		}
		return r.next() // one pair, or the end of the message
	case "uniquesearch":
		if err := r.want("us"); err != nil {
			return err
		}
		count, _ := strconv.Atoi(r.value)
		n, err := r.rows("nick", "usdone", true)
		if err == nil && n != count {
			return fmt.Errorf("%w: %d rows, %d announced", errClient, n, count)
		}
		return err
	case "pmatch":
		_, err := r.rows("psr", "psrdone", false)
		return err
	case "others", "otherslist":
		if err := r.want(command); err != nil {
			return err
		}
		_, err := r.rows("o", map[string]string{"others": "odone", "otherslist": "oldone"}[command], false)
		return err
	case "profilelist":
		if err := r.want("profilelist"); err != nil {
			return err
		}
		if err := r.next(); err != nil || r.key == "hidden" {
			return err
		}
		count, _ := strconv.Atoi(r.value)
		if r.key != "count" {
			return fmt.Errorf("%w: key %q, want a count", errClient, r.key)
		}
		n, err := r.rows("o", "pldone", false)
		if err == nil && n > count {
			return fmt.Errorf("%w: %d rows, %d announced", errClient, n, count)
		}
		return err
	}
	return fmt.Errorf("%w: unknown command %q", errClient, command)
}
