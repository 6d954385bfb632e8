package peerchat

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/netclient"
)

// Client is a game, or an IRC program, on a connection to the chat service. It is
// used by one goroutine at a time.
type Client struct {
	lines *netclient.Lines

	Nick    string     // as the service gave it; set by SignOn
	Address netip.Addr // the client's own, as the service sees it; set by SignOn
	Profile string     // ID of the player's profile; set by LogIn
}

// Line is a line of the service.
type Line struct {
	From    string   // prefix, nick!user@host for another client
	Command string   // or the three digits of a numeric
	Params  []string // the target of a numeric is the first
}

// Errors of clients.
var (
	// ErrClosed reports that the service closed the connection; the error has
	// the reason.
	ErrClosed = errors.New("the service ends the connection")
	// ErrRefused reports a numeric that refuses a request.
	ErrRefused = errors.New("refused")
)

// NewClient returns a client on a connection, which it takes ownership of.
func NewClient(conn net.Conn) *Client { return &Client{lines: netclient.NewLines(conn)} }

// parseServerLine reads a line of the service, without its end, as clients do: spaces at
// the end do not count.
func parseServerLine(text string) Line {
	var l Line
	text = strings.TrimRight(text, " ")
	if rest, ok := strings.CutPrefix(text, ":"); ok {
		l.From, text, _ = strings.Cut(rest, " ")
	}
	head, last, hasLast := strings.Cut(text, " :")
	l.Params = strings.Fields(head)
	if len(l.Params) > 0 {
		l.Command, l.Params = l.Params[0], l.Params[1:]
	}
	if hasLast {
		l.Params = append(l.Params, last)
	}
	return l
}

// Param returns a parameter, "" if there is none. A negative index counts from the
// end: -1 is the last one.
func (l Line) Param(i int) string {
	if i < 0 {
		i += len(l.Params)
	}
	if i < 0 || i >= len(l.Params) {
		return ""
	}
	return l.Params[i]
}

// Nick returns the nick of the client that the line is from.
func (l Line) Nick() string {
	nick, _, _ := strings.Cut(l.From, "!")
	return nick
}

// Is reports whether the line is a command, or a numeric, with these first
// parameters.
func (l Line) Is(command string, params ...string) bool {
	return l.Command == command && len(l.Params) >= len(params) && slices.Equal(l.Params[:len(params)], params)
}

// String returns the line as it could have been sent.
func (l Line) String() string {
	words := append([]string{l.Command}, l.Params...)
	if l.From != "" {
		words = append([]string{":" + l.From}, words...)
	}
	return strings.Join(words, " ")
}

// Send sends a command. No parameter may be empty or have spaces.
func (c *Client) Send(command string, params ...string) error {
	return c.lines.Send(strings.Join(append([]string{command}, params...), " "))
}

// SendText is Send with a last parameter that may be empty or have spaces.
func (c *Client) SendText(text, command string, params ...string) error {
	return c.Send(command, append(slices.Clone(params), ":"+text)...)
}

// Next returns the next line. PING is answered and not returned. The error is
// ErrClosed if the service ends the connection with a reason.
func (c *Client) Next(ctx context.Context) (Line, error) {
	for {
		text, err := c.lines.Next(ctx)
		if err != nil {
			return Line{}, err
		}
		l := parseServerLine(text)
		switch l.Command {
		case "":
		case "PING":
			if err := c.SendText(l.Param(-1), "PONG"); err != nil {
				return Line{}, err
			}
		case "ERROR":
			return l, fmt.Errorf("%w: %q", ErrClosed, l.Param(-1))
		default:
			return l, nil
		}
	}
}

// Await returns the next line that accept is true for. Others are dropped.
func (c *Client) Await(ctx context.Context, accept func(Line) bool) (Line, error) {
	for {
		if l, err := c.Next(ctx); err != nil || accept(l) {
			return l, err
		}
	}
}

// AwaitCommand returns the next line with a command, or a numeric, and these first
// parameters. Others are dropped.
func (c *Client) AwaitCommand(ctx context.Context, command string, params ...string) (Line, error) {
	return c.Await(ctx, func(l Line) bool { return l.Is(command, params...) })
}

// answer returns the next line that has one of the commands. Others are dropped,
// unless they are numerics that refuse, which are errors.
func (c *Client) answer(ctx context.Context, to string, commands ...string) (Line, error) {
	l, err := c.Await(ctx, func(l Line) bool { return slices.Contains(commands, l.Command) || l.refuses() })
	switch {
	case err != nil:
		return l, fmt.Errorf("no answer to %s: %w", to, err)
	case !slices.Contains(commands, l.Command):
		return l, fmt.Errorf("%s: %w with %s: %q", to, ErrRefused, l.Command, l.Param(-1))
	}
	return l, nil
}

// refuses reports whether the line is a numeric that refuses something.
func (l Line) refuses() bool {
	switch l.Command {
	case "422": // there is no message of the day
		return false
	case "708", "709", "710", "711":
		return true
	}
	return len(l.Command) == 3 && (l.Command[0] == '4' || l.Command[0] == '5')
}

// Encrypt switches to the ciphers of a game, before any other command.
func (c *Client) Encrypt(ctx context.Context, game, secret string) error {
	if err := c.Send("CRYPT", "des", "1", game); err != nil {
		return err
	}
	l, err := c.answer(ctx, "CRYPT", "705")
	if err != nil {
		return err
	}
	if len(l.Params) != 3 {
		return fmt.Errorf("CRYPT: %d parameters in the answer, want 3", len(l.Params))
	}
	fromClient, toClient := newCipher(l.Params[1], secret), newCipher(l.Params[2], secret)
	c.lines.Encrypt(toClient.apply, fromClient.apply)
	return nil
}

// LogIn signs a player in with the unique nick of a namespace, between Encrypt and
// SignOn.
func (c *Client) LogIn(ctx context.Context, namespace int, uniqueNick, password string) error {
	sum := md5.Sum([]byte(password))
	if err := c.Send("LOGIN", strconv.Itoa(namespace), uniqueNick, hex.EncodeToString(sum[:])); err != nil {
		return err
	}
	l, err := c.answer(ctx, "LOGIN", "707")
	if err != nil {
		return err
	}
	if len(l.Params) < 3 {
		return fmt.Errorf("LOGIN: %d parameters in the answer, want 3", len(l.Params))
	}
	c.Profile = l.Params[2]
	return nil
}

// SignOn requests the client's own address and signs on with a nick; "*" stands
// for the nick that belongs to the unique nick of LogIn.
func (c *Client) SignOn(ctx context.Context, nick string) error {
	if err := c.Send("USRIP"); err != nil {
		return err
	}
	l, err := c.answer(ctx, "USRIP", "302")
	if err != nil {
		return err
	}
	_, address, _ := strings.Cut(l.Param(-1), "@")
	if c.Address, err = netip.ParseAddr(address); err != nil {
		return fmt.Errorf("USRIP: the answer has no address: %w", err)
	}
	profile, _ := strconv.ParseUint(c.Profile, 10, 32) // 0 without an account
	user := encodeUser(c.Address, uint32(profile))
	if err := c.SendText("respawnd", "USER", user, "127.0.0.1", "peerchat.gamespy.com"); err != nil {
		return err
	}
	if err := c.Send("NICK", nick); err != nil {
		return err
	}
	if l, err = c.answer(ctx, "NICK", "001"); err != nil {
		return err
	}
	if len(l.Params) != 2 {
		return fmt.Errorf("NICK: %d parameters in the answer, want 2", len(l.Params))
	}
	c.Nick = l.Params[0]
	return nil
}

// Joined is the view of a channel that a new member gets.
type Joined struct {
	Topic   string
	Members []string // nicks, in front of operators @, of others with a voice +
}

// Join joins a channel, with a password if it has one, or lists its members again.
// Lines of other kinds that come meanwhile are dropped.
func (c *Client) Join(ctx context.Context, channel, password string) (j Joined, err error) {
	if err := c.Send("JOIN", channel, password); err != nil {
		return j, err
	}
	for {
		l, err := c.answer(ctx, "JOIN", "332", "353", "366")
		switch {
		case err != nil:
			return j, err
		case l.Is("332", c.Nick, channel):
			j.Topic = l.Param(-1)
		case l.Is("353", c.Nick) && l.Param(2) == channel:
			j.Members = append(j.Members, strings.Fields(l.Param(-1))...)
		case l.Is("366", c.Nick, channel):
			return j, nil
		}
	}
}

// Say sends a text to a channel or a nick. There is no answer.
func (c *Client) Say(target, text string) error { return c.SendText(text, "PRIVMSG", target) }

// Tell sends a message of the game, which players do not see, to a channel or a
// nick. There is no answer.
func (c *Client) Tell(target, text string) error { return c.SendText(text, "UTM", target) }

// SetMemberKeys sets keys of a member of a channel, given as keys and values in
// turn. There is no answer, but keys that begin with b_ are sent to all members.
func (c *Client) SetMemberKeys(channel, nick string, pairs ...string) error {
	return c.SendText(`\`+strings.Join(pairs, `\`), "SETCKEY", channel, nick)
}

// MemberKeys returns values of a member of a channel, in the order of keys. Lines
// of other kinds that come meanwhile are dropped.
func (c *Client) MemberKeys(ctx context.Context, channel, nick string, keys ...string) ([]string, error) {
	const cookie = "321"
	if err := c.SendText(`\`+strings.Join(keys, `\`), "GETCKEY", channel, nick, cookie, "0"); err != nil {
		return nil, err
	}
	for {
		l, err := c.answer(ctx, "GETCKEY", "702")
		if err != nil {
			return nil, err
		}
		if values, ok := strings.CutPrefix(l.Param(4), `\`); ok && l.Is("702", c.Nick, channel, nick, cookie) {
			return strings.Split(values, `\`), nil
		}
	}
}

// SetTopic sets the topic of a channel. All members are sent it.
func (c *Client) SetTopic(channel, topic string) error { return c.SendText(topic, "TOPIC", channel) }

// Part leaves a channel. All members are sent the reason, the client too.
func (c *Client) Part(channel, reason string) error { return c.SendText(reason, "PART", channel) }

// Quit signs off. The service ends the connection.
func (c *Client) Quit(reason string) error { return c.SendText(reason, "QUIT") }

// Close closes the connection.
func (c *Client) Close() error { return c.lines.Close() }
