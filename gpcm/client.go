package gpcm

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/respawnd/respawnd/internal/netclient"
)

// Client is a game on a connection to the presence service. It is used by one
// goroutine at a time.
type Client struct {
	*netclient.Text

	Challenge string // of the server, from its greeting

	// Set by Login.
	Session string   // key, part of most commands
	Profile string   // ID of the player's profile
	Ticket  string   // login ticket, for the web services
	Buddies []string // IDs of profiles
}

// ErrNoProof reports that the server accepted a login but does not know the
// password.
var ErrNoProof = errors.New("the service does not prove that it knows the password")

// Connect returns a client on a connection, which it takes ownership of, and
// reads the greeting. After an error the connection is closed.
func Connect(ctx context.Context, conn net.Conn) (*Client, error) {
	c := &Client{Text: netclient.NewText(conn)}
	m, err := c.Next(ctx)
	c.Challenge = netclient.Field(m, "challenge")
	switch {
	case err != nil:
		err = fmt.Errorf("no greeting: %w", err)
	case !strings.HasPrefix(m, `\lc\1\`) || c.Challenge == "":
		err = netclient.Unexpected("a connection", m)
	default:
		return c, nil
	}
	return nil, errors.Join(err, c.Close())
}

// Login holds the credentials of a player.
type Login struct {
	By       string // "uniquenick"; "user" with a Name of the form nick@email
	Name     string
	Password string
	Game     string
}

// proof returns md5hex(secret, 48 spaces, name, first, second, secret), where
// secret is the md5hex of the password.
func (l *Login) proof(first, second string) string {
	secret := digest(l.Password)
	return digest(secret + strings.Repeat(" ", 48) + l.Name + first + second + secret)
}

func digest(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// SendLogin sends a login and returns its challenge. It does not wait for the
// answer.
func (c *Client) SendLogin(l Login) (challenge string, err error) {
	challenge = rand.Text()
	return challenge, c.Send("login", "", "challenge", challenge, l.By, l.Name, "partnerid", "0",
		"response", l.proof(challenge, c.Challenge), "port", "0", "productid", "11", "gamename", l.Game,
		"namespaceid", "1", "sdkrevision", "11", "id", "1")
}

// Login signs in. The lists of buddies and blocked players that come before the
// answer are read. The error is ErrNoProof if the proof of the server is wrong.
func (c *Client) Login(ctx context.Context, l Login) error {
	challenge, err := c.SendLogin(l)
	if err != nil {
		return err
	}
	for {
		m, err := c.Next(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("no answer to a login: %w", err)
		case strings.HasPrefix(m, `\bdy\`):
			if list := netclient.Field(m, "list"); list != "" {
				c.Buddies = strings.Split(list, ",")
			}
		case strings.HasPrefix(m, `\blk\`):
		case !strings.HasPrefix(m, `\lc\2\`):
			return netclient.Unexpected("a login", m)
		case netclient.Field(m, "proof") != l.proof(c.Challenge, challenge):
			return ErrNoProof
		default:
			c.Session, c.Profile, c.Ticket = netclient.Field(m, "sesskey"), netclient.Field(m, "profileid"), netclient.Field(m, "lt")
			return nil
		}
	}
}

// AskBuddy asks the player of a profile to become a buddy. There is no answer;
// the receiver gets a message of kind [MessageRequest].
func (c *Client) AskBuddy(profile, reason string) error {
	return c.Send("addbuddy", "", "sesskey", c.Session, "newprofileid", profile, "reason", reason)
}

// Accept waits until a player asks to become a buddy, and agrees.
func (c *Client) Accept(ctx context.Context, profile string) error {
	request, err := c.AwaitMessage(ctx, MessageRequest, profile)
	if err != nil {
		return err
	}
	_, signature, _ := strings.Cut(request, "|signed|")
	return c.Send("authadd", "", "sesskey", c.Session, "fromprofileid", profile, "sig", signature)
}

// Kinds of messages between buddies.
const (
	MessageText     = "1" // text of the player
	MessageRequest  = "2" // asks to become a buddy
	MessageAccepted = "4" // answers a request
)

// Message sends a text to the player of a profile. There is no answer.
func (c *Client) Message(profile, text string) error {
	return c.Send("bm", MessageText, "sesskey", c.Session, "t", profile, "msg", text)
}

// AwaitMessage waits for a message of a kind from a profile and returns its text.
// Statuses and other messages are passed over, an error is returned.
func (c *Client) AwaitMessage(ctx context.Context, kind, from string) (text string, err error) {
	head := `\bm\` + kind + `\f\` + from + `\`
	for {
		m, err := c.Next(ctx)
		switch {
		case err != nil:
			return "", err
		case strings.HasPrefix(m, head):
			return netclient.Field(m, "msg"), nil
		case strings.HasPrefix(m, `\error\`):
			return "", netclient.Unexpected("a message", m)
		}
	}
}

// ReadProfile asks for a profile and returns the answer. Messages before it are
// skipped.
func (c *Client) ReadProfile(ctx context.Context, profile string) (string, error) {
	if err := c.Send("getprofile", "", "sesskey", c.Session, "profileid", profile, "id", "7"); err != nil {
		return "", err
	}
	for {
		m, err := c.Next(ctx)
		switch {
		case err != nil || strings.HasPrefix(m, `\pi\`):
			return m, err
		case strings.HasPrefix(m, `\error\`):
			return "", netclient.Unexpected("a request for a profile", m)
		}
	}
}

// Logout signs out. The server closes the connection.
func (c *Client) Logout() error { return c.Send("logout", "", "sesskey", c.Session) }
