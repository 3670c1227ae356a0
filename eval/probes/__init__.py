"""Models that are fitted to vectors to judge them: a Gaussian HMM, logistic regression."""
