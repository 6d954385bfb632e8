// Package sake is the storage of games, SAKE: each game has tables with records, which
// players own. It executes the methods; records are kept by package storage, and files
// are the subject of package sakefiles.
//
// # Requests
//
// A request goes to /SakeStorageServer/StorageServer.asmx on the host
// <game>.sake.<domain>, which names the game; gameid is only a number and is ignored. It
// begins with gameid, secretKey (a secret key of the game) and loginTicket (24
// characters, from the login over GPCM). The client library of 2012 goes to
// /SakeStorageServer/Public/StorageServer.asmx on <game>.api.<domain>, and sends gameid,
// certificate and proof (of the sign-in over package auth) in their place. The other elements, and those of the reply
// behind its Result:
//
//	CreateRecord        tableid values                             recordid
//	UpdateRecord        tableid recordid values
//	DeleteRecord        tableid recordid
//	SearchForRecords    tableid filter sort offset max             values
//	                    targetfilter surrounding ownerids
//	                    cacheFlag fields
//	GetMyRecords        tableid fields                             values
//	GetSpecificRecords  tableid recordids fields                   values
//	GetRandomRecords    tableid filter max fields                  values
//	RateRecord          tableid recordid rating                    numRatings averageRating
//	GetRecordLimit      tableid                                    limitPerOwner numOwned
//	GetRecordCount      tableid filter cacheFlag                   count
//
// The values of a request are RecordField elements with a name and a value, in which the
// element of the type has another value with the text. The client library of 2012 writes a
// negative number of 16 or 32 bits as an unsigned one of 32 bits. Those of a reply are an
// ArrayOfRecordValue for each record, with as many RecordValue as fields were asked for,
// in their order; a record without a field has the empty value of the type that the field
// had last in the table. The types are those of storage.SakeType.
//
// # Tables
//
// A table begins with its first record, or with its entry in the games file, which may
// also fix its fields and who may read and write. Otherwise fields have any type, all
// players read, and owners write. Names of tables and fields ignore case.
//
// Every record has the fields recordid, ownerid, num_ratings, average_rating, my_rating
// (-1: the player has not rated it) and sum_ratings. A field that holds the number of a
// file has <field>.size, <field>.create_time and <field>.downloads; these cannot be
// searched for.
//
// Games of EA read tables that are not stored: constants, and totals of reported matches. See
// career.go.
//
// # Searches
//
// A filter has comparisons (= != <> < <= > >=, like, is null, is not null) of columns
// with texts, numbers and other columns, with and, or, not and parentheses. Texts are in
// quotes, and compared without regard to case. In the pattern of like, % stands for any
// text and _ for one character. As in SQL, a comparison with a field that a record lacks
// is neither true nor false. A sort names columns with asc or desc; "random" in its place
// is a random order. Equal records are in the order of their ids.
//
// With targetfilter, the reply has the first record that matches it, with as many before
// and after it as surrounding says. The table is read twice for it, each time within the
// bounds below.
//
// The work of a search is bounded: it ends with DatabaseUnavailable when it has seen
// webservices.scan_records records, or done as much work on fewer. cacheFlag is ignored:
// answers are always fresh.
//
// A reply has at most MaxReplyRecords records, and no further one begins after MaxReplySize
// bytes of values; the rest is left out, of a search with targetfilter the rows farthest from the
// target. The protocol has no way to say so: the game must ask for the next ones with offset, or by
// their ids.
package sake
