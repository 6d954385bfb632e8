package theater

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// Word is the protocol, as commands spell it.
const Word = name

// trialGame is the game of tools and of the self-test.
const trialGame = "mercs2-pc"

// Client is a game on a connection to the list of games. It is used by one goroutine at a time.
type Client struct {
	conn   net.Conn
	r      *bufio.Reader // of conn
	in     wire.Inbox
	number int
	kept   []Message // that came while others were awaited
}

// Message is a message of the service: its word, an error's word, and its text.
type Message struct {
	Word, Failure string
	wire.Text
}

// NewClient returns a client on a connection, which it takes ownership of.
func NewClient(conn net.Conn) *Client { return &Client{conn: conn, r: bufio.NewReader(conn)} }

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Error is an error that the service sent as the answer to a request: four letters.
type Error string

// Error implements error.
func (e Error) Error() string { return "error " + string(e) }

// Send sends a request, keys and values in turn, and returns its number.
func (c *Client) Send(ctx context.Context, word string, pairs ...string) (tid string, err error) {
	c.number++
	tid = strconv.Itoa(c.number)
	return tid, c.write(ctx, word, append(lines(pairs...), lines("TID", tid)...))
}

func (c *Client) write(ctx context.Context, word string, t wire.Text) error {
	f := wire.Frame{Header: wire.Header{Service: word, Kind: wire.TheaterRequest}, Payload: t.Append(nil, wire.ClientEnd)}
	return netclient.During(ctx, c.conn, func() error {
		_, err := c.conn.Write(f.Append(nil))
		return err
	})
}

// Ask sends a request and returns its answer. An error that the service sends is an Error.
func (c *Client) Ask(ctx context.Context, word string, pairs ...string) (wire.Text, error) {
	tid, err := c.Send(ctx, word, pairs...)
	if err != nil {
		return nil, err
	}
	return c.Await(ctx, word, tid)
}

// Await returns the next message with a word, and with a number unless that is empty. Others are kept for
// later calls; a request for a sign of life is answered.
func (c *Client) Await(ctx context.Context, word, tid string) (wire.Text, error) {
	is := func(m Message) bool { return m.Word == word && (tid == "" || m.Get("TID") == tid) }
	for i, m := range c.kept {
		if is(m) {
			c.kept = append(c.kept[:i:i], c.kept[i+1:]...)
			return m.result()
		}
	}
	for {
		m, err := c.next(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("no answer to %s: %w", word, err)
		case m.Word == "PING":
			err = c.write(ctx, "PING", lines("TID", "0"))
		case is(m):
			return m.result()
		default:
			c.kept = append(c.kept, m)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (m Message) result() (wire.Text, error) {
	if m.Failure != "" {
		return m.Text, Error(m.Failure)
	}
	return m.Text, nil
}

func (c *Client) next(ctx context.Context) (m Message, err error) {
	err = netclient.During(ctx, c.conn, func() error {
		f, err := c.in.Next(c.r, maxFrame)
		if err != nil {
			return err
		}
		m.Word, m.Failure = f.Service, f.Word()
		m.Text, err = wire.ParseText(f.Payload, wire.MaxLines)
		return err
	})
	return m, err
}

// Hello begins a connection of a game, by the name that it has for itself.
func (c *Client) Hello(ctx context.Context, game string) (wire.Text, error) {
	return c.Ask(ctx, "CONN", "PROT", "2", "PROD", game, "VERS", "1.0", "PLAT", "PC", "LOCALE", "en_US", "SDKVERSION", "3.5.12.0.1")
}

// Query greets a service, and returns its answer and where it sees a datagram come from.
func Query(ctx context.Context, address string) (wire.Text, error) {
	conn, err := netclient.DialTCP(ctx, address)
	if err != nil {
		return nil, err
	}
	c := NewClient(conn)
	defer func() { _ = c.Close() }()
	t, err := c.Hello(ctx, trialGame)
	if err != nil {
		return nil, err
	}
	p, err := netclient.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	at, err := Echo(ctx, p, "")
	t.Add("ECHO", at.String())
	return t, err
}

// Enter signs in with a session key.
func (c *Client) Enter(ctx context.Context, key string) error {
	_, err := c.Ask(ctx, "USER", "MAC", "$001122334455", "SKU", "15299", "LKEY", key, "NAME", "")
	return err
}

// Host offers a game at a port for so many players, with further values, and joins it as its host
// does. It returns the number of the game.
func (c *Client) Host(ctx context.Context, title string, port uint16, most int, values ...string) (id string, err error) {
	at := strconv.Itoa(int(port))
	made, err := c.Ask(ctx, "CGAM", append([]string{
		"LID", "-1", "NAME", title, "PORT", at, "INT-IP", "127.0.0.1", "INT-PORT", at, "TYPE", "G", "HTTYPE", "A",
		"JOIN", "O", "MAX-PLAYERS", strconv.Itoa(most), "QLEN", "0", "HXFR", "0", "RT", "",
	}, values...)...)
	if err != nil {
		return "", err
	}
	id = made.Get("GID")
	tid, err := c.Send(ctx, "EGAM", "LID", made.Get("LID"), "GID", id, "PORT", at, "PTYPE", "P", "R-INT-IP", "127.0.0.1", "R-INT-PORT", at)
	if err != nil {
		return "", err
	}
	if _, err := c.Admit(ctx, id); err != nil {
		return "", err
	}
	if _, err := c.Await(ctx, "EGEG", tid); err != nil {
		return "", err
	}
	return id, c.Enters(ctx, id, "1")
}

// Admit waits for a player and lets it into the game that the client hosts. It returns what the service
// says of the player.
func (c *Client) Admit(ctx context.Context, id string) (player wire.Text, err error) {
	player, err = c.Await(ctx, "EGRQ", "")
	if err == nil {
		_, err = c.Ask(ctx, "EGRS", "LID", lobbyID, "GID", id, "PID", player.Get("PID"), "ALLOWED", "1")
	}
	return player, err
}

// Enters reports that a player has arrived at the game that the client hosts.
func (c *Client) Enters(ctx context.Context, id, player string) error {
	_, err := c.Ask(ctx, "PENT", "LID", lobbyID, "GID", id, "PID", player)
	return err
}

// List returns the games of the lobby, with filters as keys and values.
func (c *Client) List(ctx context.Context, filters ...string) (list []wire.Text, err error) {
	head, err := c.Ask(ctx, "GLST", append([]string{"LID", lobbyID, "TYPE", "G", "COUNT", "-1"}, filters...)...)
	if err != nil {
		return nil, err
	}
	for range number(head.Get("NUM-GAMES")) {
		g, err := c.Await(ctx, "GDAT", head.Get("TID"))
		if err != nil {
			return list, err
		}
		list = append(list, g)
	}
	return list, nil
}

// Echo returns where the datagrams of a socket come from, and lets the service know it of a player; uid may be empty.
func Echo(ctx context.Context, p *netclient.Packets, uid string) (at netip.AddrPort, err error) {
	f := wire.Frame{Header: wire.Header{Service: "ECHO", Kind: wire.TheaterRequest}, Payload: lines("TXN", "ECHO", "TYPE", "1", "UID", uid, "TID", "1").Append(nil, wire.ClientEnd)}
	if err := p.Send(f.Append(nil)); err != nil {
		return at, err
	}
	err = p.Await(ctx, func(b []byte, _ netip.AddrPort) (bool, error) {
		f, err := wire.ParseFrame(b)
		if err != nil || f.Service != "ECHO" {
			return false, nil
		}
		t, err := wire.ParseText(f.Payload, maxEchoLines)
		if err != nil {
			return true, err
		}
		at, err = netip.ParseAddrPort(net.JoinHostPort(t.Get("IP"), t.Get("PORT")))
		return true, err
	})
	return at, err
}

// try is the step of the self-test: a key of no player is refused, and a datagram comes back with its source.
func try(ctx context.Context, t *service.Trial) error {
	ctx = netclient.Bound(ctx, service.StepTimeout)
	conn, err := netclient.DialTCP(ctx, t.Address(name))
	if err != nil {
		return err
	}
	c := NewClient(conn)
	defer func() { _ = c.Close() }()
	if _, err := c.Hello(ctx, trialGame); err != nil {
		return err
	}
	if why, ok := errors.AsType[Error](c.Enter(ctx, "selftest.")); !ok || why != badValue {
		return fmt.Errorf("a key of no player was answered with %q, want %s", string(why), badValue)
	}
	p, err := netclient.Dial(ctx, t.Address(name))
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	at, err := Echo(ctx, p, "")
	if err == nil && at != p.Local() {
		err = fmt.Errorf("a datagram from %v is said to come from %v", p.Local(), at)
	}
	return err
}
