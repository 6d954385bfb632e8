// Package auth is the sign-in of web services: games send a name and a password,
// and get a certificate that other backends accept and that other players can check.
//
// # Passwords
//
// A game encrypts the password with the service key, of which it has the public
// part, and PKCS#1 v1.5 padding. The original key is not public, so games are
// patched: either with the modulus of our key (mode keypair), or with the
// exponent 000001 in place of 010001 (mode identity). In the second, RSA does
// nothing: the password arrives as its padded block, and a signature is the block
// that would be signed.
//
// At a sign-in every failure to read a password is a wrong password: the reply says
// nothing about the padding. For new accounts it does, so their number is limited
// before the password is decrypted.
//
// # Certificates
//
// A certificate is signed over MD5, as the games expect it:
//
//	message   = length version partnercode namespaceid userid profileid expiretime (32 bits each, little-endian)
//	            profilenick uniquenick cdkeyhash modulus exponent (without leading zeros) serverdata
//	signature = RSA PKCS#1 v1.5 of MD5(message)
//
// The 128 bytes of serverdata come back with the certificate. They begin with a
// version, a random number, the number of the password, which counts its changes,
// and an address or zeros (see Peer keys), and end with an HMAC of all other fields, whose key is derived from the service
// key. So nothing has to be remembered: a certificate is valid until it expires or
// the password is changed, also after a restart, and no other server can make one
// in either mode.
//
// # Peer keys
//
// Each certificate has a key pair of its player, whose private exponent the reply
// holds. Its MD5 is the proof that clients send with the certificate. The modulus is the
// same for all: it is made so that many exponents belong to it, and the one of a
// certificate follows from its random number. So it costs no time to make one,
// nothing has to be stored, and players do not know the proofs of others. Signatures of players
// with these keys prove to each other nothing, because each could compute the factors of the
// modulus; clients use them for the proof, and to send each other a key.
//
// The client library of 2012 overwrites the private exponent with the public one after
// LoginProfileWithGameId. So the public exponent of such a certificate is 1, whose inverse is 1:
// other players can still send keys. Its proof, the MD5 of the public exponent, is no secret.
// It is accepted from the address of the sign-in alone, of which serverdata has an HMAC.
package auth
