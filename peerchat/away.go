package peerchat

import "context"

// maxAway is the maximum length of the text of a client that is away, in bytes.
const maxAway = 200

// away is the command of that name. Games announce the same with a key; the text is for
// people who write to the client.
func (x *session) away(_ context.Context, m *message) error {
	if m.param(0) == "" {
		x.answer(numBack, "You are no longer marked as being away")
	} else {
		x.answer(numGone, "You have been marked as being away")
	}
	u := x.user
	u.away = cut(x.server.live.Load().words.clean(m.param(0)), maxAway)
	x.server.hall.links.touchUser(u)
	return nil
}

// answerAway answers with the text of a user, if it is away.
func (x *session) answerAway(u *user) {
	if u.away != "" {
		x.answer(numAway, u.away, u.nick)
	}
}

// whoFlag returns the letter of u in WHO: G if it is away, H if it is here.
func (u *user) whoFlag() string {
	if u.away != "" {
		return "G"
	}
	return "H"
}

// hostSign returns the sign of u in USERHOST: minus if it is away.
func (u *user) hostSign() string {
	if u.away != "" {
		return "-"
	}
	return "+"
}
