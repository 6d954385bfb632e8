package zandronum

// Kind is the long that a message to the master or to a launcher starts with.
type Kind uint32

// The messages to the master, and those between launcher and game server.
const (
	KindChallenge    Kind = 5660020 // server to master: announcement and heartbeat
	KindListRequest  Kind = 5660028 // launcher to master
	KindVerification Kind = 5660029 // server to master: the answer to the verification request
	KindReceipt      Kind = 5660030 // server to master: ban list received

	KindQuery   Kind = 199     // launcher to server; to a master: request for the old list
	KindInfo    Kind = 5660023 // server to launcher
	KindTooSoon Kind = 5660024 // server to launcher: asked too soon
	KindBanned  Kind = 5660025 // server to launcher: banned
	KindSegment Kind = 5660032 // server to launcher: a piece of the information

	kindNothing Kind = 0xFFFFFFFF
)

// The bytes that messages to a game server start with.
const (
	kindBanList      byte = 205
	kindVerification byte = 206
	kindBanPart      byte = 207
)

// Revisions that are treated differently.
const (
	revisionParts    = 2907 // the first that accepts the ban list in parts
	revisionRefused  = 3021 // announces itself but cannot be listed
	revisionUnstated = 0xFFFFFFFF
)

// ParseKind returns the long at the front of a message and the rest. A
// message of less than four bytes has a kind that does not exist.
func ParseKind(message []byte) (Kind, []byte) {
	r := reader{b: message}
	k := Kind(r.uint32())
	if r.short {
		return kindNothing, nil
	}
	return k, r.b
}

// Challenge is how a game server announces itself, and its heartbeat.
//
//	string  verification
//	byte    1 if it enforces the master's ban list; absent before that existed
//	long    revision; a short in some old builds, absent in older ones
type Challenge struct {
	Verification []byte // chosen by the server when it starts; part of the message that was parsed
	Complete     bool   // it states whether it enforces bans
	Enforces     bool
	Revision     uint32 // Unix time of its source, or a small number; all ones if unstated
}

// ParseChallenge parses the body of a KindChallenge.
func ParseChallenge(body []byte) Challenge {
	r := reader{b: body}
	c := Challenge{Verification: r.text(), Complete: len(r.b) > 0, Revision: revisionUnstated}
	c.Enforces = r.byte() != 0 && c.Complete
	switch n := len(r.b); {
	case n >= 4:
		c.Revision = r.uint32()
	case n >= 2:
		c.Revision = uint32(r.uint16())
	}
	return c
}

// AppendChallenge appends a whole challenge with a long revision.
func AppendChallenge(dst []byte, c Challenge) []byte {
	dst = appendString(appendUint32(dst, uint32(KindChallenge)), c.Verification)
	if !c.Complete {
		return dst
	}
	return appendUint32(append(dst, boolByte(c.Enforces)), c.Revision)
}

// Outdated reports whether c is of a build that masters no longer accept.
func (c *Challenge) Outdated() bool { return !c.Complete || c.Revision == revisionRefused }

// TakesParts reports whether servers of a revision accept the ban list in
// parts. Older ones expect it in one message.
func TakesParts(revision uint32) bool {
	return revision >= revisionParts && revision != revisionUnstated
}

// Verification is a game server's proof that it receives packets sent to its
// address.
type Verification struct {
	Verification []byte // part of the message that was parsed
	Number       uint32
}

// ParseVerification parses the body of a KindVerification. ok is false if the
// number is missing.
func ParseVerification(body []byte) (v Verification, ok bool) {
	r := reader{b: body}
	v = Verification{r.text(), r.uint32()}
	return v, !r.short
}

// AppendVerification appends a server's answer.
func AppendVerification(dst []byte, v Verification) []byte {
	dst = appendString(appendUint32(dst, uint32(KindVerification)), v.Verification)
	return appendUint32(dst, v.Number)
}

// AppendVerificationRequest appends the master's request: the server has to
// send both values back.
func AppendVerificationRequest(dst []byte, v Verification) []byte {
	dst = appendString(append(dst, kindVerification), v.Verification)
	return appendUint32(dst, v.Number)
}

// ParseVerificationRequest reads a whole message. ok is false if it is another
// one.
func ParseVerificationRequest(message []byte) (v Verification, ok bool) {
	r := reader{b: message}
	if r.byte() != kindVerification {
		return v, false
	}
	v = Verification{r.text(), r.uint32()}
	return v, !r.short
}

// ParseReceipt returns the verification string that follows KindReceipt.
func ParseReceipt(body []byte) []byte {
	r := reader{b: body}
	return r.text()
}

// AppendReceipt appends a server's receipt for a ban list.
func AppendReceipt(dst, verification []byte) []byte {
	return appendString(appendUint32(dst, uint32(KindReceipt)), verification)
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
