enum JobQueuePlaceholder {}
