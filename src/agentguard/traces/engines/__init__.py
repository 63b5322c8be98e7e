"""Engines that judge or count a log beyond one process: processes of this machine, or a Spark cluster."""
