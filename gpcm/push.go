package gpcm

import (
	"time"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// Features of a client, in its sdkrevision.
const (
	knowsAuthorized = 1
	knowsRevoked    = 2
	knowsRich       = 4 // the newer status
	knowsLists      = 8

	// revisionFrail is the revision whose clients crash on a revocation by a
	// profile whose newer status they have.
	revisionFrail = 15
)

// Kinds of buddy messages that have no name in package presence.
const (
	kindRequest    = 2
	kindAuthorized = 4
	kindRevoked    = 6
	kindStatus     = 100
	kindInvite     = 101
	kindExtended   = 104 // between clients only
)

const (
	textAuthorized = "I have authorized your request to add me to your list"
	textRevoked    = "I have revoked you from my list."
	textOffline    = "Offline"

	noSignature = "00000000000000000000000000000000"
)

// appendEvent appends an event in the form that a client of that revision
// understands; nothing if there is no such form.
func appendEvent(b []byte, e presence.Event, revision int) []byte {
	switch e := e.(type) {
	case presence.StatusChanged:
		return appendStatus(b, e.From, &e.Status, revision)
	case presence.Message:
		b = appendBuddyMessage(b, int(e.Kind), e.From, e.Sent)
		return appendFinal(appendText(b, "msg", e.Text))
	case presence.BuddyRequest:
		return appendRequest(b, &e)
	case presence.BuddyAuthorized:
		kind := kindAuthorized
		if revision&knowsAuthorized == 0 {
			kind = int(presence.Text)
		}
		b = appendBuddyMessage(b, kind, e.From, e.Sent)
		return appendFinal(appendPair(b, "msg", textAuthorized))
	case presence.BuddyRevoked:
		return appendRevoked(b, &e, revision)
	case presence.Invite:
		b = appendBuddyMessage(b, kindInvite, e.From, time.Now())
		b = appendPair(b, "msg", "")
		b = appendBar(b, "p", int64(e.Product))
		if e.Location != "" {
			b = append(b, "|l|"...)
			b = append(b, carry(e.Location, maxLocation)...)
		}
		return appendFinal(b)
	case presence.Ticket:
		return appendFinal(appendPair(b, "lt", e.Value))
	}
	return b
}

func appendBuddyMessage(b []byte, kind int, from storage.ProfileID, sent time.Time) []byte {
	b = appendNumber(b, "bm", kind)
	b = appendNumber(b, "f", from)
	if sent.IsZero() {
		sent = time.Now()
	}
	return appendNumber(b, "date", sent.Unix())
}

// appendRequest appends a request. Clients disconnect unless exactly the
// signature follows the first mark.
func appendRequest(b []byte, e *presence.BuddyRequest) []byte {
	if len(e.Signature) != storage.SignatureLen {
		return b
	}
	b = appendBuddyMessage(b, kindRequest, e.From, e.Sent)
	b = appendPair(b, "msg", requestReason(e.Reason))
	return appendFinal(appendSigned(b, e.Signature))
}

func appendSigned(b []byte, signature string) []byte {
	b = append(b, signedMark...)
	b = append(b, '|')
	return append(b, signature...)
}

func appendRevoked(b []byte, e *presence.BuddyRevoked, revision int) []byte {
	switch {
	case revision == revisionFrail:
		return appendRich(b, e.From, &presence.Status{})
	case revision&knowsRevoked == 0:
		return b
	}
	b = appendBuddyMessage(b, kindRevoked, e.From, e.Sent)
	return appendFinal(appendSigned(appendPair(b, "msg", textRevoked), noSignature))
}

// appendStatus appends a status in the form for a revision. A status in the
// older form is sent in that form to all clients, because the newer one has no
// field for its location.
func appendStatus(b []byte, from storage.ProfileID, st *presence.Status, revision int) []byte {
	rich := st.Rich != nil || st.State == presence.Offline
	if rich && revision&knowsRich != 0 {
		return appendRich(b, from, st)
	}
	text, location, quiet := st.Text, st.Location, st.Quiet
	switch {
	case st.State == presence.Offline:
		text, location, quiet = textOffline, "", 0
	case st.Rich != nil:
		text, location = st.Rich.Text, ""
	}
	b = appendNumber(b, "bm", kindStatus)
	b = appendNumber(b, "f", from)
	b = appendPair(b, "msg", "")
	b = appendBar(b, "s", int64(st.State))
	b = appendBarText(b, "ss", text)
	b = appendBarText(b, "ls", location)
	b = appendBar(b, "ip", 0)
	b = appendBar(b, "p", 0)
	b = appendBar(b, "qm", int64(int32(quiet)))
	return appendFinal(b)
}

// appendRich appends a status in the newer form. Clients end the connection if
// one key is missing.
func appendRich(b []byte, from storage.ProfileID, st *presence.Status) []byte {
	var r presence.Rich
	product, quiet := 0, uint32(0)
	if st.State != presence.Offline {
		product, quiet = st.Product, st.Quiet
		if st.Rich != nil {
			r = *st.Rich
		}
	}
	b = appendPair(b, "bsi", "")
	b = appendNumber(b, "state", st.State)
	b = appendNumber(b, "profile", from)
	b = appendNumber(b, "bip", 0)
	b = appendNumber(b, "bport", 0)
	b = appendNumber(b, "hostip", r.HostIP)
	b = appendNumber(b, "hprivip", r.PrivateIP)
	b = appendNumber(b, "qport", r.QueryPort)
	b = appendNumber(b, "hport", r.HostPort)
	b = appendNumber(b, "sessflags", r.Flags)
	b = appendText(b, "rstatus", r.Text)
	b = appendText(b, "gameType", r.GameType)
	b = appendText(b, "gameVnt", r.GameVariant)
	b = appendText(b, "gameMn", r.GameMap)
	b = appendNumber(b, "product", product)
	b = appendNumber(b, "qmodeflags", int32(quiet))
	return appendFinal(b)
}
