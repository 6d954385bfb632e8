package auth

// OriginalModulus is the modulus that games were built with, as the text that they hold:
// 256 hex digits. Its private key is not public.
const OriginalModulus = "BF05D63E93751AD4A59A4A7389CF0BE8A22CCDEEA1E7F12C062D6E194472EFDA5184CCECEB4FBADF5EB1D7ABFE91181453972AA971F624AF9BA8F0F82E2869FB" +
	"7D44BDE8D56EE50977898F3FEE75869622C4981F07506248BD3D092E8EA05C12B2FA37881176084C8F8B8756C4722CDC57D2AD28ACD3AD85934FB48D6B2D2027"

// explanation is the text of Key.Explain.
const explanation = `Games encrypt passwords with the key of the service, and check certificates with it. They hold its
modulus as a text of 256 hex digits, and its exponent as the text 010001. The private part of the original
key is not public, so the program of a game must be patched, in one of two ways.

1. webservices.rsa_mode: keypair, the default.
   Replace the text
     {original}
   in the program of the game by the modulus of this server:
     {modulus}
   The length stays the same. Players need the same patch for every server with this key: keep a copy of the
   key file (it is in backups), and move it with the data folder.

2. webservices.rsa_mode: identity.
   Replace the exponent 010001 by 000001, beside the modulus. Games with this patch work with every server in
   this mode, but passwords can be read on the way, and certificates that players show to each other can be
   forged. This server accepts its own only.

Games that ask at https:// addresses also need webservices.tls_listen, or http:// in place of https:// in
their program.
`
