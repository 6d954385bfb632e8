package peerchat

import (
	"context"
	"strings"
	"time"
)

// run carries out a command about a channel, on the node that owns it. Targets of one
// JOIN or PART may have different owners.
func (l *links) run(ctx context.Context, x *session, c *command, m *message) error {
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
	until := time.Now().Add(commandTime)
	number := l.serial.Add(1)
	for {
		var owner string
		var changed chan struct{}
		var r *request
		err := l.hall.act(x, func() error {
			folded := foldChannel(m.param(c.channel - 1))
			if l.readsOnly(x, c, m) || l.owned(folded) {
				return c.run(x, ctx, m)
			}
			if owner, changed = l.owner(folded), l.changed; owner != l.self {
				r = &request{x, owner, make(chan status, 1)}
				l.requests[number] = r
				l.send(owner, &event{kind: evCommand, request: number, who: l.id(x.user), word: m.command, params: m.params})
			}
			return nil
		})
		if err != nil || owner == "" {
			return err
		}
		if r != nil && l.await(r, number, until) {
			return nil
		}
		more := l.pause(x, changed, until)
		if err := x.over(); err != nil {
			return err
		}
		if !more {
			return x.refuse(numNoSuchChannel, "The channel is not available now. Try again", m.param(c.channel-1))
		}
	}
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

// await waits for the end of a command, and reports whether it was carried out. It may
// have ended before, and then is no longer among the requests.
func (l *links) await(r *request, number uint64, until time.Time) bool {
	ended := statusLost
	select {
	case ended = <-r.done:
	case <-time.After(time.Until(until)):
	case <-r.session.kicked:
		ended = statusDone // the end of the session is checked before the next command
	}
	l.hall.mu.Lock()
	delete(l.requests, number)
	l.hall.mu.Unlock()
	return ended == statusDone
}

// pause waits until a command may be tried again. It returns false if the time is over.
func (l *links) pause(x *session, changed chan struct{}, until time.Time) bool {
	if !time.Now().Before(until) {
		return false
	}
	select {
	case <-changed:
	case <-time.After(retryTime):
	case <-x.kicked:
	}
	return true
}

// finish ends a request.
func (l *links) finish(number uint64, s status) {
	if r := l.requests[number]; r != nil {
		delete(l.requests, number)
		r.done <- s
	}
}

// answered handles the answer to a command of a client of this node.
func (l *links) answered(e *event) {
	r := l.requests[e.request]
	if r == nil || r.node != l.from {
		return
	}
	if e.text != "" && !r.session.user.left {
		r.session.out.push([]byte(e.text))
	}
	if e.status != statusMore {
		l.finish(e.request, e.status)
	}
}

// command executes a command of a client of the sender and answers it.
func (l *links) command(e *event) {
	c, u := l.server.commands[e.word], l.ofSender(e)
	m := message{e.word, e.params}
	if c == nil || c.channel == 0 || len(m.params) < c.params || !validChannel(m.param(c.channel-1)) {
		l.server.metrics.linkDrops.WithLabelValues(linkMalformed).Inc()
		l.answer(e, "", statusDone)
		return
	}
	folded := foldChannel(m.param(c.channel - 1))
	switch {
	case l.owner(folded) != l.self:
		l.answer(e, "", statusOther)
		return
	case u == nil || !l.owned(folded):
		l.answer(e, "", statusBusy)
		return
	case e.request <= u.request: // another owner executed it
		l.answer(e, "", statusDone)
		return
	}
	x := u.session
	u.request = e.request
	l.actor, l.request = l.id(u), e.request
	x.heardAt.Store(time.Now().Unix())
	_ = c.run(x, context.Background(), &m) // these return no errors
	reply := string(x.reply)
	x.reply = nil
	l.actor, l.request = userID{}, 0
	l.server.metrics.linkCommands.Inc()
	for len(reply) > maxReply {
		l.answer(e, reply[:maxReply], statusMore)
		reply = reply[maxReply:]
	}
	l.answer(e, reply, statusDone)
}

// answer answers a command.
func (l *links) answer(e *event, text string, s status) {
	l.send(l.from, &event{kind: evDone, request: e.request, text: text, status: s})
}
