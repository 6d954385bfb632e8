package postgres

import "github.com/respawnd/respawnd/storage"

// takenIndex returns the index of a storage.TakenError that a unique constraint
// stands for, "" for constraints that no caller can violate.
func takenIndex(constraint string) string {
	switch constraint {
	case "users_pkey":
		return storage.IndexUserID
	case "users_email":
		return storage.IndexUserEmail
	case "profiles_pkey":
		return storage.IndexProfileID
	case "profiles_nick":
		return storage.IndexNick
	case "uniquenicks_pkey":
		return storage.IndexUniqueNick
	case "cdkeys_pkey":
		return storage.IndexCDKey
	case "buddies_pkey":
		return storage.IndexBuddy
	case "blocks_pkey":
		return storage.IndexBlock
	case "games_pkey":
		return storage.IndexGameName
	case "rooms_pkey":
		return storage.IndexRoomID
	}
	return ""
}
