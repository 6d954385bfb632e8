package gstats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// ErrRefused reports that the service refuses a request. It may be a Refused.
var ErrRefused = errors.New("refused")

// Refused is ErrRefused with the text of the service.
type Refused struct{ Text string }

// Error implements error.
func (r *Refused) Error() string { return "refused: " + r.Text }

// Is reports whether target is ErrRefused.
func (r *Refused) Is(target error) bool { return target == ErrRefused }

// errAnswer reports an answer that does not belong to the request.
var errAnswer = errors.New("the answer is not one to the request")

// clientMessage is the length of the longest message that a Client reads, in bytes.
const clientMessage = 2 << 20

// Client is a game on a connection to the service. It is used by one goroutine at a time.
type Client struct {
	// Challenge is the one that players answer on this connection; set by
	// Authenticate.
	Challenge string
	// Key is the session key; set by Authenticate.
	Key int32

	conn     net.Conn
	in       inbox
	greeting string
	lid      int
	out      []byte
}

// Connect returns a client on a connection, which it takes ownership of, and reads the
// greeting. After an error the connection is closed.
func Connect(ctx context.Context, conn net.Conn) (*Client, error) {
	c := &Client{conn: conn, in: inbox{most: clientMessage}}
	m, err := c.Next(ctx)
	if c.greeting = fieldOf(m, "challenge"); err == nil && c.greeting == "" {
		err = fmt.Errorf("no greeting: %w", errAnswer)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Send sends a body that is in the clear.
func (c *Client) Send(body string) error {
	c.out = seal(append(c.out[:0], body...), 0)
	_, err := c.conn.Write(c.out)
	return err
}

// Next returns the next message in the clear. It waits until the deadline of ctx.
func (c *Client) Next(ctx context.Context) (string, error) {
	by, _ := ctx.Deadline() // zero: for ever
	if err := c.conn.SetReadDeadline(by); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetReadDeadline(time.Now()) })
	defer stop()
	for {
		body, have := c.in.next()
		switch have {
		case whole:
			return string(body), nil
		case tooLong:
			return "", errAnswer
		case partial, doubtful:
		}
		if _, err := c.in.read(c.conn); err != nil {
			return "", err
		}
	}
}

// ask sends a request and returns the answer. Keepalives are passed over.
func (c *Client) ask(ctx context.Context, body string) (string, error) {
	if err := c.Send(body); err != nil {
		return "", err
	}
	for {
		m, err := c.Next(ctx)
		if err != nil || !strings.HasPrefix(m, `\ka\`) {
			return m, err
		}
	}
}

// Authenticate proves that the client is a game, by its secret key. The error matches
// ErrRefused if the service does not accept that.
func (c *Client) Authenticate(ctx context.Context, game, secret string) error {
	m, err := c.ask(ctx, `\auth\\gamename\`+game+`\response\`+Response(secret, c.greeting)+`\port\0\id\1`)
	if err != nil {
		return err
	}
	key, err := strconv.ParseInt(fieldOf(m, "sesskey"), 10, 32)
	switch {
	case strings.HasPrefix(m, `\error\`):
		return &Refused{fieldOf(m, "errmsg")}
	case !strings.HasPrefix(m, `\lc\2\`) || err != nil:
		return errAnswer
	}
	c.Key, c.Challenge = int32(key), PlayerChallenge(int32(key))
	return nil
}

// AuthenticatePlayer proves that a player has the password of a profile.
func (c *Client) AuthenticatePlayer(ctx context.Context, id storage.ProfileID, password string) error {
	m, err := c.askPlayer(ctx, fmt.Sprintf(`\authp\\pid\%d\resp\%s`, id, Proof(password, c.Challenge)))
	if err != nil {
		return err
	}
	if got := fieldOf(m, "pauthr"); got != strconv.FormatUint(uint64(id), 10) {
		return &Refused{fieldOf(m, "errmsg")}
	}
	return nil
}

// AuthenticateToken proves that a player has a token and the challenge that was issued with
// it, and returns the profile.
func (c *Client) AuthenticateToken(ctx context.Context, token, challenge string) (storage.ProfileID, error) {
	m, err := c.askPlayer(ctx, `\authp\\authtoken\`+token+`\resp\`+Proof(challenge, c.Challenge))
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(fieldOf(m, "pauthr"), 10, 31)
	if err != nil || id == 0 {
		return 0, &Refused{fieldOf(m, "errmsg")}
	}
	return storage.ProfileID(id), nil
}

// askPlayer is ask with a local id behind the request.
func (c *Client) askPlayer(ctx context.Context, body string) (string, error) {
	c.lid++
	lid := `\lid\` + strconv.Itoa(c.lid)
	m, err := c.ask(ctx, body+lid)
	if err == nil && fieldOf(m, "lid") != lid[len(`\lid\`):] {
		err = errAnswer
	}
	return m, err
}

// Set stores a block of the player of a profile and returns the time of the change. With
// merge the data are pairs that are merged into the block.
func (c *Client) Set(ctx context.Context, id storage.ProfileID, kind, index int, merge bool, data []byte) (time.Time, error) {
	kv := 0
	if merge {
		kv = 1
	}
	c.lid++
	m, err := c.ask(ctx, fmt.Sprintf(`\setpd\\pid\%d\ptype\%d\dindex\%d\kv\%d\lid\%d\length\%d\data\%s`, id, kind, index, kv, c.lid, len(data), data))
	if err != nil {
		return time.Time{}, err
	}
	if !strings.HasPrefix(m, `\setpdr\1\`) {
		return time.Time{}, ErrRefused
	}
	return modified(m)
}

// Get returns a block of the player of a profile and the time of its last change, 1970 if
// there is none.
func (c *Client) Get(ctx context.Context, id storage.ProfileID, kind, index int, keys ...string) ([]byte, time.Time, error) {
	list := ""
	if len(keys) > 0 {
		mark := string(rune(listMark))
		list = mark + strings.Join(keys, mark)
	}
	m, err := c.askPlayer(ctx, fmt.Sprintf(`\getpd\\pid\%d\ptype\%d\dindex\%d\keys\%s`, id, kind, index, list))
	if err != nil {
		return nil, time.Time{}, err
	}
	if !strings.HasPrefix(m, `\getpdr\1\`) {
		return nil, time.Time{}, ErrRefused
	}
	at, err := modified(m)
	_, data, _ := strings.Cut(m, dataKey)
	return []byte(data), at, err
}

// modified returns the time of a change in an answer.
func modified(m string) (time.Time, error) {
	n, err := strconv.ParseInt(fieldOf(m, "mod"), 10, 64)
	return time.Unix(n, 0).UTC(), err
}

// Begin reports that a match begins, by a number of the client. There is no answer.
func (c *Client) Begin(session int32) error {
	return c.Send(fmt.Sprintf(`\newgame\\connid\%d\sesskey\%d`, c.Key, session))
}

// Report reports the state of a match: keys and values by turns. There is no answer.
func (c *Client) Report(session int32, done bool, pairs ...string) error {
	final := 0
	if done {
		final = 1
	}
	mark := string(rune(listMark))
	return c.Send(fmt.Sprintf(`\updgame\\sesskey\%d\connid\%d\done\%d\gamedata\%s`, session, c.Key, final, mark+strings.Join(pairs, mark)))
}

// fieldOf returns the value of a key in the clear text of a message.
func fieldOf(m, key string) string {
	_, rest, _ := strings.Cut(m, `\`+key+`\`)
	value, _, _ := strings.Cut(rest, `\`)
	return value
}
