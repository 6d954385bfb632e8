package peerchat

import (
	"context"
	"strings"
	"time"
)

// linkCommand is a command of a client for the owner of a channel.
type linkCommand struct {
	Node         string
	User, Number uint64
	Word         string
	Params       [][]byte // they may be no UTF-8
}

// linkAnswer is the answer. Without Executed the node is not the owner of the channel, or does not
// know it or the client yet.
type linkAnswer struct {
	Executed bool
	Text     []byte
	Change   uint64 // number of the last change of an entry of the node
}

// run carries out a command about a channel, on the node that owns it. Targets of one
// JOIN or PART may have different owners.
func (l *links) run(ctx context.Context, x *session, c *command, m *message) error {
	if l.bus == nil {
		return l.hall.act(x, func() error { return c.run(x, ctx, m) })
	}
	if m.command != "JOIN" && m.command != "PART" || strings.IndexByte(m.params[0], ',') < 0 {
		return l.runOne(ctx, x, c, m)
	}
	words := strings.Split(m.param(1), ",")
	for i, name := range strings.SplitN(m.params[0], ",", maxJoinTargets+1) {
		if i == maxJoinTargets {
			return x.refuse(numTooManyChannels, "Too many channels", "*")
		}
		one := message{m.command, []string{name}}
		switch {
		case m.command == "PART" && len(m.params) > 1:
			one.params = append(one.params, m.params[1]) // the reason
		case m.command == "JOIN" && i < len(words):
			one.params = append(one.params, words[i])
		}
		if err := l.runOne(ctx, x, c, &one); err != nil {
			return err
		}
	}
	return nil
}

// runOne is run for one channel. It returns when the command is carried out, and its
// effects are known on this node.
func (l *links) runOne(ctx context.Context, x *session, c *command, m *message) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	go func() {
		select {
		case <-x.kicked:
			cancel()
		case <-ctx.Done():
		}
	}()
	number := l.serial.Add(1)
	for {
		var owner string
		var changed chan struct{}
		err := l.hall.act(x, func() error {
			folded := foldChannel(m.param(c.channel - 1))
			switch {
			case x.user.request >= number: // the owner that is gone executed it
				return nil
			case l.readsOnly(x, c, m) || l.owned(folded):
				return c.run(x, ctx, m)
			}
			owner, changed = l.owner(folded), l.changed
			return nil
		})
		if err != nil || owner == "" || owner != l.self && l.ask(ctx, x, owner, number, m) {
			return err
		}
		select {
		case <-changed:
		case <-time.After(retryTime):
		case <-ctx.Done():
			if err := x.over(); err != nil {
				return err
			}
			return x.refuse(numNoSuchChannel, "The channel is not available now. Try again", m.param(c.channel-1))
		}
	}
}

// ask has the owner of a channel carry out a command, and reports whether it did.
func (l *links) ask(ctx context.Context, x *session, owner string, number uint64, m *message) bool {
	ctx, cancel := context.WithTimeout(ctx, commandTime/4) // a request may be lost
	defer cancel()
	q := linkCommand{Node: l.self, User: x.serial, Number: number, Word: m.command}
	for _, p := range m.params {
		q.Params = append(q.Params, []byte(p))
	}
	a, err := l.commands.Ask(ctx, owner, q)
	if err != nil || !a.Executed {
		return false
	}
	l.shared.Reach(ctx, owner, a.Change)
	if len(a.Text) > 0 {
		x.out.push(a.Text)
	}
	return true
}

// readsOnly reports whether a command changes nothing, or cannot succeed: this node
// answers it. The lock of the hall is held.
func (l *links) readsOnly(x *session, c *command, m *message) bool {
	name := m.param(c.channel - 1)
	if !validChannel(name) {
		return true
	}
	in := l.hall.channel(name)
	switch m.command {
	case "JOIN":
		return in != nil && x.user.member(in) != nil
	case "TOPIC":
		return in == nil || len(m.params) == 1
	case "MODE":
		return in == nil || len(m.params) == 1 || strings.Trim(m.params[1], "+-") == "b" && len(m.params) == 2
	case "PRIVMSG", "NOTICE", "UTM", "ATM":
		return in == nil || m.param(1) == ""
	}
	return in == nil
}

// execute executes a command of a client of another node.
func (l *links) execute(_ context.Context, q linkCommand) (a linkAnswer, err error) {
	c, m := l.server.commands[q.Word], message{command: q.Word}
	bad := len(q.Params) > maxParams
	for _, p := range q.Params {
		m.params = append(m.params, string(p))
		bad = bad || len(p) > maxLine
	}
	if bad || c == nil || c.channel == 0 || len(m.params) < c.params || !validChannel(m.param(c.channel-1)) {
		l.drop(linkMalformed)
		return linkAnswer{Executed: true}, nil
	}
	l.locked(func() {
		u := l.users[userID{q.Node, q.User}]
		if u == nil || u.node == "" || !l.owned(foldChannel(m.param(c.channel-1))) {
			return
		}
		if a.Executed = true; u.left || q.Number <= u.request { // another owner executed it
			return
		}
		x := u.session
		u.request, l.actor, l.request = q.Number, l.id(u), q.Number
		x.heardAt.Store(time.Now().Unix())
		_ = c.run(x, context.Background(), &m) // these return no errors
		a.Text, x.reply = x.reply, nil
		l.server.metrics.linkCommands.Inc()
	})
	a.Change = l.shared.Number()
	return a, nil
}
