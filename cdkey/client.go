package cdkey

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
)

// Errors of a Client.
var (
	// ErrRefused reports that a player is refused; the error has the reason.
	ErrRefused = errors.New("refused")
	// ErrAnswer reports an answer that is not to the question.
	ErrAnswer = errors.New("the answer is not one to the request")
)

// Client asks a service as a game server does: for the self-test, load and tests.
type Client struct {
	conn net.Conn
	skey int
}

// Dial returns a client of the service at an address.
func Dial(ctx context.Context, address string) (*Client, error) {
	conn, err := netclient.Connect(ctx, "udp4", address)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn}, nil
}

// Close closes the socket.
func (c *Client) Close() error { return c.conn.Close() }

// Auth asks whether a player with a key may play, and waits for the answer until a
// time. The error matches ErrRefused if not.
func (c *Client) Auth(product int, key string, by time.Time) error {
	c.skey++
	const challenge = "respawnd"
	request := appendAuth(nil, product, challenge, Respond(key, challenge, uint32(c.skey)), c.skey)
	if err := c.conn.SetDeadline(by); err != nil {
		return err
	}
	if err := c.Send(request); err != nil {
		return err
	}
	answer, err := c.Receive()
	if err != nil {
		return err
	}
	h, _ := parseHash([]byte(HashOf(key)))
	if answer == string(appendOK(nil, h, c.skey)) {
		return nil
	}
	if text, ok := strings.CutPrefix(answer, string(appendRefusal(nil, h, c.skey, ""))); ok {
		return &refusal{text}
	}
	return ErrAnswer
}

// refusal is ErrRefused with the text for the player.
type refusal struct{ text string }

// Error implements error.
func (r *refusal) Error() string { return r.text }

// Is reports whether target is ErrRefused.
func (r *refusal) Is(target error) bool { return target == ErrRefused }

// Leave reports that a player with a key has left.
func (c *Client) Leave(product int, key string) error {
	h, _ := parseHash([]byte(HashOf(key)))
	return c.Send(appendLeave(nil, product, h))
}

// Send sends a message that is in the clear.
func (c *Client) Send(message []byte) error {
	crypt(message)
	_, err := c.conn.Write(message)
	return err
}

// Receive returns the next message in the clear.
func (c *Client) Receive() (string, error) {
	var buf [2 * maxRequest]byte
	n, err := c.conn.Read(buf[:])
	if err != nil {
		return "", err
	}
	crypt(buf[:n])
	return string(buf[:n]), nil
}
