"""The course: exercises whose scenario grades what a student has written.

answers.py    a student's answers, and how many are right
exercises.py  the exercises that come with dcnlab, and copies of them
grading.py    runs the scenario of an exercise: points, and hints for what does not hold
"""
