package peerchat

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// stage is when a command may be sent.
type stage uint8

const (
	signedOn stage = iota
	before         // before the sign-on
	always
)

// weight is the cost of a command for its sender.
type weight uint8

const (
	weightNone weight = iota
	weightMessage
	weightChange
	weightKeys
	weightList
)

func (w weight) of(c *live) int {
	return [...]int{weightMessage: c.WeightMessage, weightChange: c.WeightChange, weightKeys: c.WeightKeys, weightList: c.WeightList}[w]
}

// command is one row of the table: the requirements of a command and its
// function.
type command struct {
	when   stage
	params int // that it has at least
	weight weight
	alone  bool // run takes the lock of the hall itself, because it may block

	// In a cluster, the number of the parameter with the channel whose node carries the
	// command out; 0: none, the client's own does.
	channel int
	nicks   bool // it may give the client a nick

	// run carries it out. An error ends the connection.
	run func(*session, context.Context, *message) error
}

func commandTable() map[string]*command {
	return map[string]*command{
		"CRYPT":        {when: before, params: 3, alone: true, run: (*session).crypt},
		"LOGIN":        {when: before, params: 3, weight: weightChange, alone: true, run: (*session).logIn},
		"LOGINPREAUTH": {when: before, params: 2, weight: weightChange, alone: true, run: (*session).logInPreAuth},
		"REGISTERNICK": {when: before, nicks: true, params: 2, weight: weightChange, alone: true, run: (*session).registerNick},
		"PASS":         {when: always, weight: weightMessage, run: (*session).nothing},
		"CAP":          {when: always, weight: weightMessage, run: (*session).capabilities},
		"USRIP":        {when: always, weight: weightMessage, run: (*session).userHost},
		"USERHOST":     {when: always, weight: weightMessage, run: (*session).userHost},
		"USER":         {when: before, nicks: true, params: 4, run: (*session).setUser},
		"NICK":         {when: always, nicks: true, weight: weightChange, run: (*session).setNick},
		"QUIT":         {when: always, run: (*session).quit},
		"PING":         {when: always, weight: weightMessage, run: (*session).ping},
		"PONG":         {when: always, run: (*session).nothing},
		"CDKEY":        {when: signedOn, params: 1, weight: weightMessage, run: (*session).cdKey},
		"AWAY":         {when: signedOn, weight: weightMessage, run: (*session).away},
		"MOTD":         {when: signedOn, weight: weightList, run: (*session).motd},
		"ISON":         {when: signedOn, weight: weightList, run: (*session).isOn},

		"JOIN":     {when: signedOn, channel: 1, params: 1, weight: weightChange, run: (*session).join},
		"PART":     {when: signedOn, channel: 1, params: 1, weight: weightChange, run: (*session).part},
		"KICK":     {when: signedOn, channel: 1, params: 2, weight: weightChange, run: (*session).kick},
		"INVITE":   {when: signedOn, channel: 2, params: 2, weight: weightChange, run: (*session).invite},
		"TOPIC":    {when: signedOn, channel: 1, params: 1, weight: weightChange, run: (*session).setTopic},
		"MODE":     {when: signedOn, channel: 1, params: 1, weight: weightChange, run: (*session).mode},
		"SETGROUP": {when: signedOn, channel: 1, params: 2, weight: weightChange, run: (*session).setGroup},

		"PRIVMSG": {when: signedOn, channel: 1, weight: weightMessage, run: (*session).message},
		"NOTICE":  {when: signedOn, channel: 1, weight: weightMessage, run: (*session).message},
		"UTM":     {when: signedOn, channel: 1, weight: weightMessage, run: (*session).message},
		"ATM":     {when: signedOn, channel: 1, weight: weightMessage, run: (*session).message},

		"NAMES": {when: signedOn, weight: weightList, run: (*session).names},
		"WHO":   {when: signedOn, params: 1, weight: weightList, run: (*session).who},
		"WHOIS": {when: signedOn, params: 1, weight: weightList, run: (*session).whois},
		"LIST":  {when: signedOn, weight: weightList, alone: true, run: (*session).list},

		"WHOWAS":  {when: signedOn, params: 1, weight: weightList, run: (*session).whoWas},
		"LUSERS":  {when: signedOn, weight: weightList, run: (*session).users},
		"VERSION": {when: signedOn, weight: weightList, run: (*session).version},
		"TIME":    {when: signedOn, weight: weightList, run: (*session).time},
		"ADMIN":   {when: signedOn, weight: weightList, run: (*session).admin},
		"INFO":    {when: signedOn, weight: weightList, run: (*session).info},
		"LINKS":   {when: signedOn, weight: weightList, run: (*session).linksTo},
		"OPER":    {when: signedOn, params: 2, weight: weightList, run: (*session).oper},

		"SETKEY":     {when: signedOn, params: 1, weight: weightKeys, run: (*session).setKey},
		"GETKEY":     {when: signedOn, params: 4, weight: weightKeys, run: (*session).getKey},
		"SETCKEY":    {when: signedOn, channel: 1, params: 3, weight: weightKeys, run: (*session).setMemberKey},
		"GETCKEY":    {when: signedOn, params: 5, weight: weightKeys, run: (*session).getMemberKey},
		"SETCHANKEY": {when: signedOn, channel: 1, params: 2, weight: weightKeys, run: (*session).setChannelKey},
		"GETCHANKEY": {when: signedOn, params: 4, weight: weightKeys, run: (*session).getChannelKey},

		// These are not answered: the relay that a client requests does not
		// exist here, and the client gives up by itself.
		"GETUDPRELAY": {when: signedOn, params: 1, weight: weightMessage, run: (*session).nothing},
	}
}

// handle carries out one line. An error ends the connection.
func (x *session) handle(ctx context.Context, line []byte) error {
	if x.user == nil {
		if x.lines++; x.lines > maxBeforeLogin {
			return endedLogins
		}
	}
	if x.banned() {
		return endedBanned
	}
	m, ok := parseLine(line)
	if !ok {
		x.drop(droppedEmpty)
		return nil
	}
	c := x.server.commands[m.command]
	if c == nil {
		x.server.metrics.commands.WithLabelValues(unknownCommand).Inc()
		x.drop(droppedUnknown)
		if err := x.slowDown(weightMessage.of(x.server.live.Load())); err != nil {
			return err
		}
		return x.refuse(numUnknownCommand, "Unknown Command", m.command)
	}
	x.server.metrics.commands.WithLabelValues(m.command).Inc()
	if err := x.slowDown(c.weight.of(x.server.live.Load())); err != nil {
		return err
	}
	if refused, err := x.refuses(c, &m); refused {
		return err
	}
	switch {
	case c.nicks:
		x.server.hall.links.claim(ctx, x, &m)
	case c.channel > 0 && strings.HasPrefix(m.param(c.channel-1), "#"):
		return x.server.hall.links.run(ctx, x, c, &m)
	}
	if c.alone {
		return x.shutdown(c.run(x, ctx, &m))
	}
	return x.server.hall.act(x, func() error { return c.run(x, ctx, &m) })
}

// shutdown replaces the error of a store whose caller has to end.
func (x *session) shutdown(err error) error {
	if errors.Is(err, context.Canceled) { // ours: nothing else cancels
		return errShutdown
	}
	return err
}

// refuses reports whether the requirements of a command forbid it.
func (x *session) refuses(c *command, m *message) (refused bool, err error) {
	switch {
	case c.when == signedOn && x.user == nil:
		x.drop(droppedEarly)
		return true, x.refuse(numNotRegistered, "You have not registered")
	case c.when == before && x.user != nil:
		return true, x.refuse(numAlreadyRegistered, "You may not reregister")
	case len(m.params) < c.params:
		x.drop(droppedParams)
		return true, x.refuse(numNeedMoreParams, "Not enough parameters", m.command)
	}
	return false, nil
}

// refuse answers a line that is not carried out.
func (x *session) refuse(n numeric, text string, params ...string) error {
	return x.server.hall.act(x, func() error {
		x.answer(n, text, params...)
		return nil
	})
}

func (x *session) drop(why ended) { x.server.opt.Metrics.Drop(why.Error()) }

// target returns the name of the client in numerics.
func (x *session) target() string {
	switch {
	case x.user != nil:
		return x.user.nick
	default:
		return "*"
	}
}

func (x *session) answer(n numeric, text string, params ...string) {
	x.reply = appendText(appendNumeric(x.reply, n, x.target(), params...), text)
}

// answerPlain appends a numeric without a text.
func (x *session) answerPlain(n numeric, params ...string) {
	x.reply = appendEnd(appendNumeric(x.reply, n, x.target(), params...))
}

// param returns a parameter of m, empty if there is none.
func (m *message) param(i int) string {
	if i < len(m.params) {
		return m.params[i]
	}
	return ""
}

// nothing is for commands that have no effect.
func (x *session) nothing(context.Context, *message) error { return nil }

// ping is the command of that name.
func (x *session) ping(_ context.Context, m *message) error {
	x.reply = appendText(appendFrom(x.reply, serverName, "PONG", serverName), m.param(0))
	return nil
}

// quit is the command of that name.
func (x *session) quit(_ context.Context, m *message) error {
	reason := m.param(0)
	if reason == "" {
		reason = "Quit"
	}
	return quit{reason}
}

// capabilities answers IRC programs that request capabilities: there are none.
func (x *session) capabilities(_ context.Context, m *message) error {
	if sub := m.param(0); sub == "LS" || sub == "LIST" {
		x.reply = appendText(appendFrom(x.reply, serverName, "CAP", x.target(), sub), "")
	}
	return nil
}

// cdKey answers that a CD key is good: it is checked by another service.
func (x *session) cdKey(context.Context, *message) error {
	x.answer(numCDKey, "Authenticated", "1")
	return nil
}

// isOn answers which of some nicks are signed on.
func (x *session) isOn(_ context.Context, m *message) error {
	var on []byte
	for _, nick := range m.params {
		if u := x.server.hall.nicks[foldNick(nick)]; u != nil {
			if len(on) > 0 {
				on = append(on, ' ')
			}
			on = append(on, u.nick...)
		}
	}
	x.answer(numIsOn, string(on))
	return nil
}

// appendPing appends the question whether a client is there. Clients answer with
// the text only if a colon stands before it.
func appendPing(dst []byte, now time.Time) []byte {
	return appendText(append(dst, "PING"...), strconv.FormatInt(now.Unix(), 10))
}

// appendClosing appends the last line of a connection.
func appendClosing(dst []byte, nick, text string) []byte {
	if nick == "" {
		nick = "*"
	}
	return appendText(append(dst, "ERROR"...), "Closing Link: "+nick+" ("+text+")")
}
