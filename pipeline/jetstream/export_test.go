package jetstream

// IndexBytes returns what the index of a log takes in memory.
func IndexBytes(l *Log) int {
	_, bytes := l.index.size()
	return bytes
}
