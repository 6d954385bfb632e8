package federation

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/netclient"
)

// Bounds of lists at a URL.
const (
	maxLine   = 1 << 10 // of text, in bytes
	maxObject = 2 << 10 // of JSON, in bytes, on the average
	maxBody   = 64 << 20
	pageSize  = 1000 // servers that are requested of 333networks at once

	xashPort = 27015 // of a server in a list of Xash3D without a port
)

var (
	errNoAddresses = errors.New("the answer is not a list of addresses")
	errNoArray     = errors.New("the answer has no list where it should be")
)

// page requests a page of a master, and calls use with what it contains, up to a number of
// bytes. The error is netclient.ErrTooLong for a longer one.
func page(ctx context.Context, m *configs.OtherMaster, d *dialer, address string, most int, use func(io.Reader) error) error {
	t := d.web(m)
	defer t.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: t, CheckRedirect: sameSite}).Do(req)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", clean.Line(resp.Status, 60))
	}
	body := &io.LimitedReader{R: resp.Body, N: int64(most)}
	if err = use(body); body.N <= 0 {
		err = netclient.ErrTooLong
	}
	return err
}

// listed tells the entries of a list at a URL, up to a number of them.
type listed struct {
	source *source
	query  string
	left   int
}

// tell tells an entry. What is no address is refused.
func (l *listed) tell(ip netip.Addr, port int) error {
	m := &l.source.master
	if port += m.Offset; !ip.IsValid() || port <= 0 || port >= 1<<16 {
		l.source.refuse(refusedAddress)
		return nil
	}
	if l.left--; l.left < 0 {
		return netclient.ErrTooLong
	}
	l.source.tell(found{addr: netip.AddrPortFrom(ip.Unmap(), uint16(port)), query: l.query, game: m.Game})
	return nil
}

// readText reads a list of lines. A line is an address, perhaps with something behind it, or
// such as Xash3D's: ip or gs, and an address. Empty lines and comments are passed over.
func readText(ctx context.Context, s *source, d *dialer, most int) error {
	l := listed{s, s.master.Query, most}
	return page(ctx, &s.master, d, s.master.Address, 64*most+1<<16, func(r io.Reader) error {
		lines, good, bad := bufio.NewScanner(r), 0, 0
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			a, ok := parseLine(lines.Text())
			switch {
			case ok && a.IsValid():
				good++
				if err := l.tell(a.Addr(), int(a.Port())); err != nil {
					return err
				}
			case ok:
			default:
				bad++
				s.refuse(refusedAddress)
			}
		}
		if bad > 0 && good == 0 {
			return errNoAddresses
		}
		return lines.Err()
	})
}

// parseLine returns the address of a line; the zero value: it has none, and needs none.
func parseLine(line string) (a netip.AddrPort, ok bool) {
	words := strings.Fields(line)
	if len(words) == 0 || words[0][0] == '#' || strings.HasPrefix(words[0], "//") {
		return a, true
	}
	if len(words) > 1 && (words[0] == "ip" || words[0] == "gs") {
		if ip, err := netip.ParseAddr(words[1]); err == nil {
			return netip.AddrPortFrom(ip, xashPort), true
		}
		words = words[1:]
	}
	a, err := netip.ParseAddrPort(words[0])
	return a, err == nil
}

// readJSON reads the objects of an array.
func readJSON(ctx context.Context, s *source, d *dialer, most int) error {
	m := &s.master
	l := listed{s, m.Query, most}
	return page(ctx, m, d, m.Address, min(maxObject*most+1<<16, maxBody), func(r io.Reader) error {
		var path []string
		if m.At != "" {
			path = strings.Split(m.At, ".")
		}
		return array(json.NewDecoder(r), path, func(raw json.RawMessage) error {
			return l.tell(object(raw, m.HostField, m.PortField))
		})
	})
}

// read333 reads the pages of a game of 333networks, whose servers are queried a port above
// that of the game.
func read333(ctx context.Context, s *source, d *dialer, most int) error {
	m := &s.master
	l := listed{s, cmp.Or(m.Query, "gs1"), most}
	for n := 1; ; n++ {
		seen := 0
		address := fmt.Sprintf("%s/json/%s?r=%d&p=%d", m.Address, url.PathEscape(m.Game), pageSize, n)
		err := page(ctx, m, d, address, maxObject*pageSize, func(r io.Reader) error {
			return array(json.NewDecoder(r), []string{"0"}, func(raw json.RawMessage) error {
				seen++
				return l.tell(object(raw, "ip", "hostport"))
			})
		})
		if err != nil || seen < pageSize {
			return err
		}
	}
}

// object returns the address of an object. Numbers may be texts, and the port may stand in
// the address.
func object(raw json.RawMessage, hostField, portField string) (netip.Addr, int) {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return netip.Addr{}, 0
	}
	text := func(field string) string { return string(bytes.Trim(o[field], `"`)) }
	if a, err := netip.ParseAddrPort(text(hostField)); err == nil {
		return a.Addr(), int(a.Port())
	}
	ip, _ := netip.ParseAddr(text(hostField))
	port, _ := strconv.Atoi(text(portField))
	return ip, port
}

// array calls each with the elements of the array at a path: names of objects, and numbers
// of elements.
func array(d *json.Decoder, path []string, each func(json.RawMessage) error) error {
	t, err := d.Token()
	switch {
	case err != nil:
		return errNoArray
	case len(path) == 0 && t == json.Delim('['):
		return elements(d, each)
	case len(path) == 0 || t != json.Delim('[') && t != json.Delim('{'):
		return errNoArray
	}
	for n := 0; d.More(); n++ {
		name := strconv.Itoa(n)
		if t == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return errNoArray
			}
			name, _ = key.(string)
		}
		if name == path[0] { //nolint:gosec // without a path it has returned
			return array(d, path[1:], each) //nolint:gosec // the same
		}
		var other json.RawMessage
		if d.Decode(&other) != nil {
			return errNoArray
		}
	}
	return errNoArray
}

// elements calls each with the elements of an array whose beginning was read.
func elements(d *json.Decoder, each func(json.RawMessage) error) error {
	for d.More() {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return errNoArray
		}
		if err := each(raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errNoArray
	}
	return nil
}
