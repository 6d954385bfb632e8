package peerchat

import (
	"context"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/operator"
)

// ctcp begins a text that an IRC program answers by itself.
const ctcp = '\x01'

// ctcpAction is the only such text that is relayed: it requests no answer.
const ctcpAction = "\x01ACTION "

// message is PRIVMSG, NOTICE, UTM and ATM. The last two are messages between
// games; the sender gets no answer.
func (x *session) message(_ context.Context, m *message) error {
	target, text := m.param(0), m.param(1)
	talk := m.command == "PRIVMSG" || m.command == "NOTICE"
	switch {
	case target == "":
		x.answer(numNoRecipient, "No recipient given ("+m.command+")")
		return nil
	case len(m.params) < 2 || text == "":
		x.answer(numNoText, "No text to send")
		return nil
	case talk && text[0] == ctcp && !strings.HasPrefix(text, ctcpAction):
		x.drop(droppedCTCP)
		x.answer(numCannotSend, "Of CTCP only ACTION is relayed", target)
		return nil
	}
	if talk && !isGameText(text) {
		text = x.server.live.Load().words.clean(text)
	}
	if target[0] == '#' {
		x.toChannel(m.command, target, text, talk)
		return nil
	}
	x.toUser(m.command, target, text, talk)
	return nil
}

// isGameText reports whether a message is for the game at the other end.
func isGameText(text string) bool { return strings.HasPrefix(text, "@@@") }

// toChannel relays a message to a channel.
func (x *session) toChannel(command, target, text string, talk bool) {
	h, u := x.server.hall, x.user
	c := h.channel(target)
	if c == nil {
		x.answer(numNoSuchChannel, "No such channel", target)
		return
	}
	if !x.maySpeak(c, talk && !isGameText(text)) {
		x.drop(droppedNotAllowed)
		x.answer(numCannotSend, "Cannot send to channel", target)
		return
	}
	x.server.show(c, u, command, text)
	x.server.metrics.messages.WithLabelValues("channel").Inc()
	if s := x.server; s.opt.Said != nil && isTalk(command, text) {
		s.opt.Said(c.name, u.nick, text)
	}
	h.links.tell(c, event{kind: evMessage, by: h.links.author(u), word: command, text: text})
}

// isTalk reports whether players read a message.
func isTalk(command, text string) bool { return command == "PRIVMSG" && !isGameText(text) }

// show shows a message to the members of a channel that are clients of this node, all but
// its author; nil: an operator.
func (s *Server) show(c *channel, u *user, command, text string) {
	n := s.hall.toMembers(c, u, u, func(dst []byte, prefix, name string) []byte {
		if u == nil {
			prefix = operatorPrefix
		}
		return appendText(appendFrom(dst, prefix, command, name), text)
	})
	s.metrics.delivered.Add(float64(n))
	if u != nil && isTalk(command, text) {
		s.noteSaid(c, u.nick, text)
	}
}

// maySpeak reports whether the client may send to a channel: only members may. Muted
// players may still send messages between games.
func (x *session) maySpeak(c *channel, talk bool) bool {
	m := x.user.member(c)
	if m == nil || (c.flags.has('m') || m.barred) && !m.op && !m.voice {
		return false
	}
	return !talk || !x.muted(c)
}

// muted reports whether the client may not talk in a channel.
func (x *session) muted(c *channel) bool {
	banned, muted := x.server.sanctioned(x, c.name)
	if banned || muted {
		x.noteMuted()
	}
	return banned || muted
}

// noteMuted counts a line that an operator's rule keeps from being relayed.
func (x *session) noteMuted() {
	x.drop(droppedMuted)
	x.noteVerdict(verdicts.ChatMuted)
}

// toUser relays a message to a client.
func (x *session) toUser(command, target, text string, talk bool) {
	h, u := x.server.hall, x.user
	to := h.nicks[foldNick(target)]
	if to == nil {
		x.answer(numNoSuchNick, "No such nick", target)
		return
	}
	if _, muted := x.server.sanctioned(x, ""); muted && talk && !isGameText(text) {
		x.noteMuted()
		x.answer(numCannotSend, "You are muted", target)
		return
	}
	h.deliver(to, appendText(appendFrom(nil, u.prefix(to == u), command, to.nick), text))
	if command == "PRIVMSG" {
		x.answerAway(to)
	}
	x.server.metrics.messages.WithLabelValues("user").Inc()
	x.server.metrics.delivered.Inc()
}

// noteSaid keeps the last lines for operators, a configured number.
func (s *Server) noteSaid(c *channel, nick, text string) {
	if n := s.live.Load().History; n > 0 {
		c.said = append(c.said, operator.ChatLine{At: time.Now(), Nick: nick, Text: text})
		if len(c.said) > n {
			c.said = append(c.said[:0:0], c.said[len(c.said)-n:]...)
		}
	} else {
		c.said = nil
	}
}

// wordFilter replaces words in texts.
type wordFilter struct{ words []string } // in lower case

func newWordFilter(words []string) *wordFilter {
	f := new(wordFilter)
	for _, w := range words {
		if w != "" {
			f.words = append(f.words, ascii.ToLower(w))
		}
	}
	return f
}

// clean returns text with asterisks in place of the words.
func (f *wordFilter) clean(text string) string {
	if f == nil || len(f.words) == 0 {
		return text
	}
	low := ascii.ToLower(text)
	var out []byte
	for _, w := range f.words {
		for from := 0; ; {
			i := strings.Index(low[from:], w)
			if i < 0 {
				break
			}
			if out == nil {
				out = []byte(text)
			}
			for j := range len(w) {
				out[from+i+j] = '*'
			}
			from += i + len(w)
		}
	}
	if out == nil {
		return text
	}
	return string(out)
}
