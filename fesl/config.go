package fesl

import "time"

// Config is section fesl of the configuration. The comment of each field explains its
// key.
type Config struct {
	// TCP address. Red Alert 3 expects port 18840.
	Listen string `key:"listen" default:":18840" listen:"tcp 18840"`
	// Further TCP addresses that answer the same, at most 256: each game has a port of
	// its own built in. Battlefield 2142 expects 18300, Kane's Wrath 18760, The Battle for
	// Middle-earth II 18160, Mercenaries 2 18710, Medal of Honor: Airborne 18240, The Lord
	// of the Rings: Conquest 18880, Bad Company 2 18390 and its servers 18321, Need for Speed
	// 18210, 18580, 18201 and 18940, MySims 18130; client programs for Command & Conquer 3
	// lead it to 18800. On the PS3: Red Alert 3 18290, Mercenaries 2 18720, Medal of Honor:
	// Airborne 18260, The Lord of the Rings: Conquest 18870 or 18271, The Godfather II 18990,
	// Army of Two 18340 and 18141, Bad Company 18800, Bad Company 2 18121 and 18331,
	// Battlefield 1943 18231, Need for Speed 18230, 18600, 18221 and 18930, Skate 18420 and
	// 18040, Half-Life 2 18450, The Simpsons 18550. Unused while fesl.listen is empty.
	ExtraListen []string `key:"extra_listen" default:":18300,:18760,:18160,:18800,:18710,:18240,:18880,:18390,:18321,:18210,:18580,:18201,:18940,:18130,:18290,:18720,:18260,:18870,:18271,:18990,:18340,:18141,:18121,:18331,:18231,:18230,:18600,:18221,:18930,:18420,:18040,:18450,:18550" as:"extralisten"` // none of them is empty
	// Files with a certificate and its key, PEM. With them, clients may also speak TLS
	// 1.2 or newer, on the same ports. That is for helper programs that encrypt for the
	// game: the games themselves speak SSL 3.0, see ssl3. Empty: plain text only.
	TLSCert string `key:"tls_cert" as:"text"`
	// See tls_cert.
	TLSKey string `key:"tls_key" as:"text"`
	// SSL 3.0 with the certificate of tls_cert, whose key must be RSA, true or false. It is for
	// games whose check of the certificate is off, such as a patched Mercenaries 2. It
	// protects nothing: the encryption is broken, so everyone on the way can read the
	// passwords, as in plain text.
	SSL3 bool `key:"ssl3" default:"false"`
	// Open connections, {range}. A player who is signed in needs one.
	MaxConns int `key:"max_conns" default:"16384" range:"1 to 1000000" live:"true"`
	// Open connections from one address, {range}. A LAN party is one address.
	MaxPerAddr int `key:"max_per_addr" default:"64" range:"1 to 1000000" live:"true"`
	// New connections per second from one address, {range}. More wait, for up to 10s.
	Rate int `key:"rate" default:"10" range:"1 to 1000000" live:"true"`
	// New connections that one address may open at once before the rate applies,
	// {range}.
	Burst int `key:"burst" default:"40" range:"1 to 1000000" live:"true"`
	// How often a client is asked for a sign of life, {range}. One that is silent for five
	// times that is disconnected. Red Alert 3 leaves after four minutes of
	// silence.
	MemCheck time.Duration `key:"memcheck" default:"60s" range:"5s to 3m"`
	// Time for a client to read data sent to it, {range}.
	Write time.Duration `key:"write" default:"30s" range:"1s to 10m"`
	// Accounts that one address may create per minute, {range}. 0: no bound.
	Registrations int `key:"registrations" default:"20" range:"0 to 1000000" live:"true"`
	// Profiles that an account may have before games can add no more to it, {range}.
	// Battlefield 2142 shows four.
	MaxPersonas int `key:"max_personas" default:"4" range:"1 to 32" live:"true"`
	// Gives the players of Battlefield 2142 the Northern Strike booster pack, true or
	// false.
	NorthernStrike bool `key:"northern_strike" default:"true" live:"true"`
	// Gives the players of Bad Company 2 on computers its expansion and its extras, true or
	// false.
	BadCompany2 bool `key:"bad_company_2" default:"true" live:"true"`
	// Tickets of the PS3, true or false. true: games sign in with a ticket of the console
	// or of RPCN, the network of RPCS3. Its signature cannot be checked, so everyone can
	// sign in as any such player. Their accounts are apart from those with a password.
	ConsoleTickets bool `key:"console_tickets" default:"false" live:"true"`
}
