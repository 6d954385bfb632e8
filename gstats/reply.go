package gstats

import (
	"strconv"

	"github.com/respawnd/respawnd/storage"
)

// challengeLen is the length of the server's challenge: with it the first message has
// 38 bytes, and clients wait for that many.
const challengeLen = 10

// maxErrorText is the length of the longest text of a refusal. Clients have 256 bytes.
const maxErrorText = 200

// appendPair appends a key with a value that contains no backslash.
func appendPair(b []byte, key, value string) []byte {
	b = append(b, '\\')
	b = append(b, key...)
	b = append(b, '\\')
	return append(b, value...)
}

func appendNumber[N ~int | ~int32 | ~int64 | ~uint32](b []byte, key string, n N) []byte {
	return strconv.AppendInt(appendPair(b, key, ""), int64(n), 10)
}

// appendGreeting appends the first message of a connection.
func appendGreeting(b []byte, challenge string) []byte {
	start := len(b)
	b = appendPair(b, "lc", "1")
	b = appendPair(b, "challenge", challenge)
	return seal(appendPair(b, "id", "1"), start)
}

// appendServed appends the answer to the proof of a game.
func appendServed(b []byte, key int32) []byte {
	start := len(b)
	b = appendPair(b, "lc", "2")
	b = appendNumber(b, "sesskey", key)
	b = appendPair(b, "proof", "0")
	return seal(appendPair(b, "id", "1"), start)
}

// errorCode is the number of all errors that end a connection. Clients ignore it.
const errorCode = "256"

// appendError appends the message that ends a connection.
func appendError(b []byte, text string) []byte {
	start := len(b)
	b = appendPair(b, "error", "")
	b = appendPair(b, "err", errorCode)
	b = appendPair(b, "fatal", "")
	b = appendPair(b, "errmsg", text)
	return seal(appendPair(b, "id", "1"), start)
}

// appendPlayer appends the answer to authp or, with the name getpidr, to getpid. The
// profile is 0 for a refusal, which has a text.
func appendPlayer(b []byte, name string, id storage.ProfileID, lid number, text string) []byte {
	start := len(b)
	n := int64(id)
	if id == 0 {
		n = -1
	}
	b = appendNumber(b, name, n)
	b = appendNumber(b, "lid", lid.value)
	if id == 0 {
		b = appendPair(b, "errmsg", text[:min(len(text), maxErrorText)])
	}
	return seal(b, start)
}

// appendSet appends the answer to setpd. modified is 0 for a refusal.
func appendSet(b []byte, r *request, modified int64) []byte {
	start := len(b)
	stored := 0
	if modified > 0 {
		stored = 1
	}
	b = appendNumber(b, "setpdr", stored)
	b = appendOwner(b, r)
	return seal(appendNumber(b, "mod", modified), start)
}

// appendOwner appends the fields with which clients match answers about data.
func appendOwner(b []byte, r *request) []byte {
	b = appendNumber(b, "lid", r.lid.value)
	return appendNumber(b, "pid", r.pid.value)
}

// appendGetRefusal appends the refusal of a getpd.
func appendGetRefusal(b []byte, r *request) []byte {
	start := len(b)
	return seal(appendOwner(appendPair(b, "getpdr", "0"), r), start)
}

// appendUnchanged appends the answer to a getpd of a block that did not change.
func appendUnchanged(b []byte, r *request, modified int64) []byte {
	start := len(b)
	b = appendOwner(appendPair(b, "getpdr", "2"), r)
	return seal(appendNumber(b, "mod", modified), start)
}

// appendData appends the answer to getpd. The data are last: clients take the first
// occurrence of a key.
func appendData(b []byte, r *request, modified int64, data []byte) []byte {
	start := len(b)
	b = appendOwner(appendPair(b, "getpdr", "1"), r)
	b = appendNumber(b, "mod", modified)
	b = appendNumber(b, "length", len(data))
	b = append(b, dataKey...)
	return seal(append(b, data...), start)
}

func appendKeepAlive(b []byte) []byte {
	return seal(append(b, `\ka\`...), len(b))
}
