package peerchat

import "strings"

// numeric is the number of a reply. The lower ones are those of RFC 1459, those
// from 700 on are peculiar to these games.
type numeric uint16

// Numerics that the service sends. The client checks how many parameters each has,
// the target among them, and drops a line that has more or fewer.
const (
	numWelcome     numeric = 1 // its target becomes the nick of the client
	numYourHost    numeric = 2
	numCreated     numeric = 3
	numMyInfo      numeric = 4
	numUsers       numeric = 251 // LUSERS
	numChannels    numeric = 254
	numClients     numeric = 255
	numAway        numeric = 301
	numUserHost    numeric = 302
	numIsOn        numeric = 303
	numBack        numeric = 305
	numGone        numeric = 306
	numWhoisUser   numeric = 311
	numEndOfWho    numeric = 315
	numEndOfWhois  numeric = 318
	numWhoisRooms  numeric = 319
	numListStart   numeric = 321
	numList        numeric = 322
	numListEnd     numeric = 323
	numModes       numeric = 324
	numCreateTime  numeric = 329
	numNoTopic     numeric = 331
	numTopic       numeric = 332
	numInviting    numeric = 341
	numVersion     numeric = 351
	numWho         numeric = 352
	numNames       numeric = 353
	numLink        numeric = 364
	numEndOfLinks  numeric = 365
	numEndOfNames  numeric = 366
	numBan         numeric = 367
	numEndOfBans   numeric = 368
	numEndOfWhoWas numeric = 369
	numInfo        numeric = 371
	numMOTD        numeric = 372
	numEndOfInfo   numeric = 374
	numMOTDStart   numeric = 375
	numEndOfMOTD   numeric = 376
	numTime        numeric = 391

	numNoSuchNick        numeric = 401
	numNoSuchChannel     numeric = 403
	numCannotSend        numeric = 404
	numTooManyChannels   numeric = 405
	numWasNoSuchNick     numeric = 406
	numNoRecipient       numeric = 411
	numNoText            numeric = 412
	numUnknownCommand    numeric = 421
	numNoMOTD            numeric = 422
	numNoAdmin           numeric = 423
	numNoNickGiven       numeric = 431
	numBadNick           numeric = 432
	numNickInUse         numeric = 433
	numUserNotInChannel  numeric = 441
	numNotOnChannel      numeric = 442
	numUserOnChannel     numeric = 443
	numNotRegistered     numeric = 451
	numNeedMoreParams    numeric = 461
	numAlreadyRegistered numeric = 462
	numWrongPassword     numeric = 464
	numYouAreBanned      numeric = 465
	numChannelFull       numeric = 471
	numUnknownMode       numeric = 472
	numInviteOnly        numeric = 473
	numBanned            numeric = 474
	numBadKey            numeric = 475
	numBadMask           numeric = 476
	numBanListFull       numeric = 478
	numNotOperator       numeric = 482
	numNoOperators       numeric = 491
	numUnknownUserMode   numeric = 501
	numUsersDontMatch    numeric = 502

	numKeys           numeric = 700 // GETKEY
	numEndOfKeys      numeric = 701
	numMemberKeys     numeric = 702 // GETCKEY and broadcasts of SETCKEY
	numEndOfMembers   numeric = 703
	numChannelKeys    numeric = 704 // GETCHANKEY and broadcasts of SETCHANKEY
	numChallenges     numeric = 705
	numCDKey          numeric = 706
	numLogin          numeric = 707
	numLoginFailed    numeric = 708
	numNoUniqueNick   numeric = 709
	numNickExpired    numeric = 710
	numNickSuggestion numeric = 711
	numUDPRelay       numeric = 712
)

// serverName is the prefix of lines of the service itself.
const serverName = "s"

// appendNumeric appends a numeric with its target, which may be empty, and further
// parameters. [appendText] or [appendEnd] must follow.
func appendNumeric(dst []byte, n numeric, target string, params ...string) []byte {
	dst = append(dst, ':')
	dst = append(dst, serverName...)
	dst = append(dst, ' ', byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10), ' ')
	dst = appendClean(dst, target)
	return appendParams(dst, params)
}

// appendFrom appends a command with the prefix of its author, nick!user@host, and
// parameters. An empty prefix is left out: PING and ERROR have none. [appendText],
// [appendModes] or [appendEnd] must follow.
func appendFrom(dst []byte, prefix, command string, params ...string) []byte {
	if prefix != "" {
		dst = append(dst, ':')
		dst = appendClean(dst, prefix)
		dst = append(dst, ' ')
	}
	dst = append(dst, command...)
	return appendParams(dst, params)
}

// appendText appends the last parameter, which may be empty or have spaces, and the
// end of the line.
func appendText(dst []byte, text string) []byte {
	dst = append(dst, " :"...)
	return appendEnd(appendClean(dst, text))
}

// appendEnd ends a line without a text.
func appendEnd(dst []byte) []byte { return append(dst, "\r\n"...) }

// appendParams appends parameters, each as exactly one for the reader.
func appendParams(dst []byte, params []string) []byte {
	for _, p := range params {
		dst = appendParam(append(dst, ' '), p)
	}
	return dst
}

// appendParam appends a parameter that is not the text. One that is empty, begins
// with a colon or has spaces would change how many the reader counts: colons in
// front and spaces are left out, and nothing becomes "*".
func appendParam(dst []byte, p string) []byte {
	p = strings.TrimLeft(p, ": \r\n\x00")
	if strings.IndexByte(p, ' ') >= 0 {
		p = strings.ReplaceAll(p, " ", "")
	}
	if p == "" {
		return append(dst, '*')
	}
	return appendClean(dst, p)
}

// appendClean appends a text without CR, LF and NUL: clients end a line at each of
// the first two, so a text that has one could forge lines of the service. All
// other bytes stay as they are, whether Latin-1 or UTF-8.
func appendClean(dst []byte, s string) []byte {
	if strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '\r') < 0 && strings.IndexByte(s, 0) < 0 {
		return append(dst, s...)
	}
	for i := range len(s) {
		if !isBreak(s[i]) {
			dst = append(dst, s[i])
		}
	}
	return dst
}

// isBreak reports whether a byte can end a line or a text for some reader.
func isBreak(c byte) bool { return c == '\r' || c == '\n' || c == 0 }
